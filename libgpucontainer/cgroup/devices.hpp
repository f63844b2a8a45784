// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/group.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cgroup {

struct Errand;

/// A device node that is asked about.
struct Node {
    int fd = -1; ///< Opened by O_PATH: it is never opened for anything else.
    DeviceNumber number;
};

enum class Verdict : std::uint8_t {
    allowed,
    unlisted, ///< The list of a group of version 1 leaves it out, which may be changed.
    denied,   ///< Otherwise: by a program, or by an exception.
    unknown,
};

/// What was found out, for each node that was asked about.
struct Answer {
    std::vector<Verdict> verdicts;
    std::string group;   ///< Path of one that forbids a node; maybe "".
    std::string unknown; ///< Why something is not known; maybe "".
};

/// The groups of a process, as far as they have a say in devices.
class Groups {
public:
    /// What keeps one of them from being looked at shows in what ask() finds. Errors: rootfs when
    /// the process has ended; usage for what is no pidfd; requirement for a /proc that is
    /// not the kernel's.
    static Result<Groups> of_process(int pidfd);

    /// Whether processes of these groups may read and write the nodes, which this thread can:
    /// what stands in its own way says nothing about them. Costs a process that is sent into
    /// the groups where they are not the caller's own.
    Answer ask(std::span<const Node> nodes) const;

    /// Of version 1, where that is not the caller's; null where it cannot be had.
    const Group* listed() const noexcept { return devices_.group ? &*devices_.group : nullptr; }

private:
    class Verdicts;
    /// One hierarchy.
    struct Place {
        std::string path;       ///< Of the group; "" where there is no such hierarchy.
        bool elsewhere = false; ///< The process is in another group than the caller.
        std::optional<Group> group;
        std::string problem; ///< Why there is none, elsewhere.
    };

    Groups() = default;
    static Place place(Version version, const std::optional<std::string>& own,
                       const std::optional<std::string>& its, std::string_view process);
    void read_list(std::span<const Node> nodes, Verdicts& verdicts, base::UniqueFd& procs) const;
    void send(Errand& errand, std::span<const Node> nodes, Verdicts& verdicts) const;

    Place unified_;
    Place devices_;
    bool may_join_devices_ = false; ///< Joining that hierarchy joins no other.
};

} // namespace gpucontainer::cgroup
