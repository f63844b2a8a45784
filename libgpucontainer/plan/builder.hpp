// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

#include <span>

namespace gpucontainer::plan {

/// The set-up would be of the host, or of whatever the caller lives in.
Error callers_root();

/// Decides everything: drivers, request and root file system in, plan out. Reads
/// the root through its view and nothing else. At least one driver.
Result<Plan> create_plan(std::span<const model::DriverStack> drivers, const Request& request,
                         const Target* target);

} // namespace gpucontainer::plan
