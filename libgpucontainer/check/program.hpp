// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "model/driver.hpp"
#include "plan/plan.hpp"
#include "rootfs/view.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::check {

/// What a program loads when it starts.
struct Started {
    std::vector<std::string> loaded; ///< Paths in the container, the program's first; maybe none.
    model::Causes causes;
};

/// Finds out whether a program of a container starts, and which libraries it loads: `program` is a
/// path in it, or a name in its PATH. Also whether programs there can load the libraries that
/// `plan` gives, or find other copies of them; `plan` is null if there is none.
Result<Started> start(const rootfs::View& container,
                      const std::map<std::string, std::string>& environment,
                      const std::string& program, const plan::Plan* plan,
                      std::span<const model::DriverStack> drivers);

} // namespace gpucontainer::check
