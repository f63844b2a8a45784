// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::search {

/// The directories of an RPATH or RUNPATH, with $ORIGIN, $LIB and $PLATFORM replaced as by the
/// loader of the machine. `origin` is the directory of the file. Relative directories are left out.
std::vector<std::string> expand_loader_path(std::span<const std::string> directories,
                                            const std::string& origin, const elf::Machine& machine);

/// The directories in the driver root that match patterns, each once. "*" in a component stands for
/// anything; newer versions come first.
std::vector<std::string> expand_directories(const host::DriverRoot& root,
                                            std::span<const std::string> patterns);

} // namespace gpucontainer::search
