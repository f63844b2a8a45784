// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/cause.hpp"
#include "plan/plan.hpp"

namespace gpucontainer::check {

/// Looks for the device nodes of a plan in a container as it is, whoever set it up: they may be
/// missing there, be other devices, lie on a mount with nodev, or be forbidden by the device
/// cgroups of its process. `rootfs_fd` is its root directory. None is opened. Errors: those of
/// cgroup::Groups::of_process().
Result<void> add_causes_of_nodes_there(const plan::Plan& plan, int rootfs_fd, int pidfd,
                                       model::Causes& causes);

} // namespace gpucontainer::check
