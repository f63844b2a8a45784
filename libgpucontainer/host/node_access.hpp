// SPDX-License-Identifier: MIT
#pragma once

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

} // namespace gpucontainer::host
