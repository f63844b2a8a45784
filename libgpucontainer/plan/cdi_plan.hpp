// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/merged.hpp"
#include "plan/plan.hpp"
#include "plan/request.hpp"

namespace gpucontainer::plan {

/// Makes a plan of what a container gets by devices of CDI, whoever wrote their specifications. It
/// reads the root through its view, and what the specifications name on this host. Their hooks are
/// not run: the plan does what they are for. Errors: usage, for what a root file system cannot be
/// given; driver, for what is not on this host; rootfs.
Result<Plan> create_cdi_plan(const cdi::Merged& merged, const Request& request,
                             const Target& target);

} // namespace gpucontainer::plan
