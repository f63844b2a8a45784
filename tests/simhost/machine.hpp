// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::simhost {

/// The machine that plays the host: which paths of the recording are its own.
class Machine {
public:
    /// Where a recorded path lies here, links of the machine among its
    /// directories followed: "/lib/x.so" is "/usr/lib/x.so" on a usr-merged one.
    /// Directories of a GPU driver are not the machine's and taken as they are.
    std::string place(const std::string& path);

    /// True when the machine has something at that very path.
    static bool has(const std::string& path);

private:
    std::map<std::string, std::string, std::less<>> directories_;
};

/// A name that a file of a GPU's driver or toolkit has: those of the built-in catalogues, and more.
/// Such files of the machine give way to the recorded ones.
bool is_gpu_name(std::string_view name);

/// The same for any component of a path, or one of gpu_paths() that it is or lies below.
bool is_gpu_path(std::string_view path);

/// Where a driver's data lies, whatever its name.
std::span<const std::string_view> gpu_paths();

/// A library of the C and C++ run-time families in a directory that the loader
/// searches by itself: every program of the machine needs its own one.
bool is_system_library(std::string_view path);

} // namespace gpucontainer::simhost
