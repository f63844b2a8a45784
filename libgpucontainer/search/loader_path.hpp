// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::search {

/// The directories of an RPATH or RUNPATH of a file found in `origin`, with $ORIGIN,
/// $LIB and $PLATFORM for what the loader makes of them. Relative ones are left out.
std::vector<std::string> expand_loader_path(std::span<const std::string> directories,
                                            const std::string& origin);

/// The directories in the driver root that patterns name: "*" in a component stands for
/// anything. Newer versions come first, and each directory once.
std::vector<std::string> expand_directories(const host::DriverRoot& root,
                                            std::span<const std::string> patterns);

} // namespace gpucontainer::search
