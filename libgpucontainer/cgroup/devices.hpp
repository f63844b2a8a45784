// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/device_program.hpp"
#include "cgroup/grant.hpp"
#include "cgroup/group.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cgroup {

struct Errand;

/// A device node to ask about.
struct Node {
    int fd = -1; ///< Opened with O_PATH; it is never opened otherwise.
    DeviceNumber number;
};

enum class Verdict : std::uint8_t {
    allowed,
    unlisted, ///< Missing in the list of a group of version 1, to which it can be added.
    denied,   ///< Forbidden by a program or an exception.
    unknown,
};

/// The result for each node.
struct Answer {
    std::vector<Verdict> verdicts;
    std::string group;   ///< Path of a group that forbids a node; may be "".
    std::string unknown; ///< Why something is not known; may be "".
};

/// The device cgroups of a process.
class Groups {
public:
    /// If a group cannot be looked at, ask() reports that. Errors: rootfs if the process has
    /// ended; usage if it is not a pidfd; requirement if /proc is not the kernel's.
    static Result<Groups> of_process(int pidfd);

    /// Whether processes of these groups may read and write the nodes. It is unknown for nodes
    /// that this thread cannot use. If the groups are not the caller's own, it starts a process in
    /// them.
    Answer ask(std::span<const Node> nodes) const;

    /// Has processes of these groups use devices, unless the groups are the caller's own. `rules`
    /// are all that a group of version 2 was made with; the devices are added to them, and take the
    /// place of each program that forbids one: of the group, and of systemd's scope around it.
    /// After an error all is as it was. Errors: those of Group::allow() and replace_program();
    /// permission, if another group above forbids a device; requirement if a program is in the way
    /// and the rules are not known.
    Result<Grant> allow(std::span<const DeviceNumber> devices,
                        const std::optional<std::vector<OrderedRule>>& rules) const;

    /// The group of version 1, if it is not the caller's; null if it cannot be opened.
    const Group* listed() const noexcept { return devices_.group ? &*devices_.group : nullptr; }

private:
    class Verdicts;
    /// One hierarchy.
    struct Place {
        std::string path;       ///< Of the group; "" if there is no such hierarchy.
        bool elsewhere = false; ///< The process is in another group than the caller.
        std::optional<Group> group;
        std::string problem; ///< Why the group could not be opened.
    };

    Groups() = default;
    static Place place(Version version, const std::optional<std::string>& own,
                       const std::optional<std::string>& its, std::string_view process);
    void read_list(std::span<const Node> nodes, Verdicts& verdicts, base::UniqueFd& procs) const;
    void send(Errand& errand, std::span<const Node> nodes, Verdicts& verdicts) const;

    Place unified_;
    Place devices_;
    bool may_join_devices_ = false; ///< To join the hierarchy of version 1 joins no other.
};

} // namespace gpucontainer::cgroup
