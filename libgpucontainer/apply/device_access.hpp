// SPDX-License-Identifier: MIT
#pragma once

#include "apply/journal_store.hpp"
#include "apply/origin.hpp"
#include "base/result.hpp"
#include "cgroup/devices.hpp"
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
/// no use but does not keep the GPUs from working, is told as a warning. Errors: permission,
/// where a node is forbidden that is needed, and no rule helps; those of Groups::of_process().
Result<DeviceAccess> ask_for_devices(const plan::Plan& plan, int pidfd,
                                     std::vector<std::string>* warnings);

/// Adds the rules that the list lacks, and has the journal say so first. It says so too of those
/// that are there by another set-up of the same state directory: the last one to be undone takes
/// them. `program` is the journal's. An error leaves the list, and the journal, as they were,
/// unless taking a rule back fails as well: then the journal has it.
Result<void> add_rules(const DeviceAccess& access, Journal& journal, const Program& program,
                       RootJournals& journals, std::vector<std::string>* warnings);

/// Takes the journal's rules back from the group that they were added to, if that still is there
/// and has a list of its own, but for those that another set-up's journal has too; it has none
/// then. Errors: permission, apply, requirement.
Result<void> take_back_rules(Journal& journal, const Program& program, RootJournals& journals);

/// Whether a journal has rules for other devices, as a replacement leaves them that was cut off.
bool has_other_rules(const Journal& journal, const DeviceAccess& access);

/// Whether rules of an older set-up are in the group that one which takes its place needs. They
/// stay meanwhile: the kernel takes a rule from the groups below too, where nobody adds it again.
bool may_be_inherited(const Journal& older, const DeviceAccess& access);

/// Before a journal takes the place of an older one: has it say what that one has added, or takes
/// that back where it is of no use to it.
Result<void> inherit_rules(const DeviceAccess& access, Journal& older, Journal& journal,
                           RootJournals& journals);

/// Writes a journal, after taking back what it has inherited and its plan has no node for, but
/// for what another set-up's has too.
Result<void> write_with_own_rules(const DeviceAccess& access, Journal& journal,
                                  const Program& program, RootJournals& journals);

/// Before older set-ups of the same root go: adds what the list lacks, and has the journal of one
/// of them say so. So it is known beforehand whether that can be had. Errors: those of
/// add_rules(); apply, where they have rules in another group.
Result<void> secure_rules(const DeviceAccess& access, std::span<Journal> older,
                          const Viewpoint& here, RootJournals& journals);

/// A node of a set-up that the process may not use.
struct DeniedNode {
    std::string path;
    std::string group; ///< That forbids it.
};

/// What is known of the nodes of a set-up.
struct NodesInUse {
    std::vector<DeniedNode> denied;
    std::string unknown; ///< Why the others are not known to be allowed; "" if they are.
};

/// Asks whether the process may use the nodes below `rootfs_fd` that a journal has mounted.
NodesInUse ask_about_nodes(const Program& program, int rootfs_fd, int pidfd);

} // namespace gpucontainer::apply
