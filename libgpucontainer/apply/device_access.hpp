// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/devices.hpp"
#include "journal/origin.hpp"
#include "journal/store.hpp"
#include "plan/plan.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Whether a container that runs may use the device nodes that it is given. Its device
/// cgroups decide: a node that they forbid is there, and of no use.
namespace gpucontainer::apply {

/// A node whose device a list has to allow.
struct ListedNode {
    cgroup::DeviceNumber device;
    std::string path;
    bool required = false;
};

/// What is known of a process's device cgroups before anything is done.
struct DeviceAccess {
    std::optional<cgroup::Groups> groups; ///< None without a process.
    std::vector<ListedNode> listed;       ///< Where a list decides, and nothing else forbids it.
    bool lacks_rules = false;             ///< It does not allow all of them.
    std::string hint;                     ///< What there is to do where that cannot be changed.
};

/// Asks for a plan's nodes, opening none. -1: there is no process. What is not known, or is of
/// no use but does not keep the GPUs from working, is a finding. Errors: permission,
/// where a node is forbidden that is needed, and no rule helps; those of Groups::of_process().
Result<DeviceAccess> ask_for_devices(const plan::Plan& plan, int pidfd, model::Findings* findings);

/// Asks whether the process may use the nodes below `rootfs_fd` that a journal has mounted:
/// those that are forbidden, and why others are not known to be allowed.
model::Findings ask_about_nodes(const program::Program& program, int rootfs_fd, int pidfd);

} // namespace gpucontainer::apply
