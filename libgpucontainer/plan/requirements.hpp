// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "requirement/expression.hpp"

#include <span>
#include <string_view>

namespace gpucontainer::plan {

/// Reads a requirement with the names of all built-in vendors. Errors: usage.
Result<requirement::Expression> parse_requirement(std::string_view text);

/// What requirements are checked against.
struct Chosen {
    std::span<const model::DriverStack> drivers; ///< Of the host.
    std::span<const UsedDriver> used;            ///< Those of the plan, with the chosen GPUs.
    bool may_choose_others = true; ///< The hint may propose other GPUs that can be used.
};

/// Checks that an expression holds for each chosen GPU of the vendors whose drivers have such
/// facts; without a GPU, for their drivers. Without such a driver, nothing but an empty expression
/// is met. Errors: requirement.
Result<void> check_requirement(const requirement::Expression& expression, const Chosen& chosen);

} // namespace gpucontainer::plan
