// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace gpucontainer::host {

/// Why this process cannot open a device node for reading and writing, or for reading if its
/// permissions let nobody write.
struct Obstacle {
    std::string text; ///< "" if it can.
    bool is_device_cgroup = false;
};

/// Checks the node at `path` without opening it, so that no GPU wakes up.
Obstacle obstacle_to_opening(const std::string& path);

/// Whether anybody may have put the file at `path` there, which belongs to `owner`: others may
/// write its directory, and it belongs to neither root nor the caller.
bool is_anybodys(const std::string& path, std::uint32_t owner);

} // namespace gpucontainer::host
