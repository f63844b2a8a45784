// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

#include <span>

namespace gpucontainer::plan {

/// For a root that is the caller's own: the set-up would change the host, or the caller's
/// container.
Error callers_root();

/// Refuses that. -- CMD may use the caller's root, because it works in its own mount namespace.
Result<void> require_other_root(const Request& request, const Target* target);

/// Makes a plan from drivers, at least one, a request and a root file system. It reads the root
/// through its view, and nothing else.
Result<Plan> create_plan(std::span<const model::DriverStack> drivers, const Request& request,
                         const Target* target);

} // namespace gpucontainer::plan
