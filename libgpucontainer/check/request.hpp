// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "detect/host.hpp"
#include "model/cause.hpp"
#include "plan/planned.hpp"

#include <optional>

namespace gpucontainer::check {

/// The plan of a set-up of a root, of which `root` is a view, or of a typical one if `rootfs_fd` is
/// -1; and each mistake of the request as a cause in `causes`, which has those of the host. If
/// device nodes that do not work or a mistake keep the set-up from being planned, it is the plan of
/// what would be set up without them; none if there is no such plan. Errors: internal.
Result<std::optional<plan::Planned>> plan_request(const detect::Host& host,
                                                  const plan::Request& request, int rootfs_fd,
                                                  const rootfs::RootView* root,
                                                  model::Causes& causes);

/// Adds in which ways the caller's scheduler and the device cgroup contradict each other. That this
/// cgroup forbids other GPUs is no cause for whom a scheduler gave some.
void judge_grant(const detect::Host& host, const plan::Request& request,
                 const std::optional<plan::Planned>& planned, model::Causes& causes);

} // namespace gpucontainer::check
