// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/driver.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::vendor {

/// One place that detection read, and a text that is another one after a change.
struct Mark {
    std::string path;
    std::string state;

    bool operator==(const Mark&) const = default;
};

/// Ties what was detected to the host as it is now: the boot, the kernel modules
/// and their GPUs, the directories with the drivers' files, the loader cache, and
/// each node with what this process may do with it. Opens no device node.
std::vector<Mark> fingerprint(const std::string& system_root, std::span<const DriverStack> drivers);

/// False also where detection could not know everything yet.
bool is_current(const std::string& system_root, std::span<const DriverStack> drivers,
                std::span<const Mark> marks);

} // namespace gpucontainer::vendor
