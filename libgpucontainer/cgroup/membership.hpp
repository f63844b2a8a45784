// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Which devices the control groups of a process let it open.
namespace gpucontainer::cgroup {

/// Where /proc/PID/cgroup says that a process is, in the two hierarchies that know of devices.
/// Paths begin at the cgroup namespace of the reader; one that leads out of it has "..".
struct Membership {
    std::optional<std::string> unified; ///< Of version 2, where programs decide.
    std::optional<std::string> devices; ///< Of version 1, where a list does.
    /// That hierarchy of version 1 has no other controllers.
    bool devices_alone = false;

    bool operator==(const Membership&) const = default;
};

/// What is no line of the kernel's counts for nothing.
Membership parse_membership(std::string_view text);

} // namespace gpucontainer::cgroup
