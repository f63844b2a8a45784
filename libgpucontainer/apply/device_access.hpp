// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "cgroup/devices.hpp"
#include "journal/origin.hpp"
#include "journal/store.hpp"
#include "plan/made_nodes.hpp"
#include "plan/plan.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Whether a running container may use the device nodes that it is given. A node that its device
/// cgroups forbid exists, but cannot be opened.
namespace gpucontainer::apply {

/// A node that a list must allow.
struct ListedNode {
    cgroup::DeviceNumber device;
    std::string path;
    bool required = false;
};

/// What is known about a process's device cgroups before anything is changed.
struct DeviceAccess {
    std::optional<cgroup::Groups> groups; ///< None without a process.
    std::vector<ListedNode> listed;       ///< Nodes for which only a list decides.
    bool lacks_rules = false;             ///< The list does not allow all of them.
    std::string hint;                     ///< What to do if the list cannot be changed.
};

/// The nodes of the plan that the host lacks and that must not be made, because the device cgroups
/// of the target's process forbid them, or may do so. Errors: those of Groups::of_process().
Result<plan::RefusedNodes> nodes_not_to_make(const plan::Plan& plan, const Target& target);

/// Asks about a plan's nodes, and opens none; about none if the target has no process. A finding is
/// added if an answer is unknown, or if a node is forbidden without which the GPUs still work.
/// Errors: permission, if a node that is needed is forbidden and no rule can change that; those of
/// Groups::of_process().
Result<DeviceAccess> ask_for_devices(const plan::Plan& plan, const Target& target,
                                     model::Findings* findings);

/// Asks whether the process may use the nodes below `rootfs_fd` that a journal has mounted.
/// Returns those that are forbidden, and why others are unknown.
model::Findings ask_about_nodes(const program::Program& program, int rootfs_fd, int pidfd);

} // namespace gpucontainer::apply
