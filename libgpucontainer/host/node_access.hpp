// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpucontainer::host {

/// What keeps this process from opening a device node for reading and writing.
struct Obstacle {
    std::string text; ///< "" where nothing does.
    bool is_device_cgroup = false;
};

/// The node at `path` is not opened: no GPU wakes up.
Obstacle obstacle_to_opening(const std::string& path);

} // namespace gpucontainer::host
