// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpucontainer::cgroup {

/// The groups of a process in the two hierarchies that control devices, from /proc/PID/cgroup.
/// Paths begin at the root of the reader's cgroup namespace; those outside it have "..".
struct Membership {
    std::optional<std::string> unified; ///< Path in version 2.
    std::optional<std::string> devices; ///< Path in version 1.
    /// Whether the version 1 hierarchy has no other controllers.
    bool devices_alone = false;

    bool operator==(const Membership&) const = default;
};

/// Ignores lines that the kernel would not write.
Membership parse_membership(std::string_view text);

} // namespace gpucontainer::cgroup
