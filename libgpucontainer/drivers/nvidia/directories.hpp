// SPDX-License-Identifier: MIT
#pragma once

#include "model/catalogue.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Directories of drivers that the loader's configuration may not name. A "*" stands for any name.
const std::vector<std::string>& odd_directories();

/// The directories that a driver has in the place of "/usr": "/opt/nvidia" for libraries in
/// "/opt/nvidia/lib64", "" if all its files are in "/".
std::vector<std::string> prefixes_of(std::span<const std::string> library_directories);

/// Where plug-ins of the driver may be, which no loader cache names: in the directories of their
/// loaders beside the driver's libraries, or where distributions keep modules of the X server.
/// Paths are in the driver root. There is no X server for 32-bit programs.
std::vector<std::string> module_directories(model::Catalogue catalogue,
                                            std::span<const std::string> library_directories,
                                            bool compat32);

/// Where the driver whose libraries are in these directories may have those for 32-bit programs. A
/// "*" stands for any name.
std::vector<std::string> compat32_directories(std::span<const std::string> library_directories);

} // namespace gpucontainer::drivers::nvidia
