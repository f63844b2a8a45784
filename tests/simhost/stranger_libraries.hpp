// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"
#include "recording.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::simhost {

/// Takes out of the columns of ELF files, and out of the loader's cache, what could have the loader
/// take a file that is no library of the recording or of the machine's usual directories. Names of
/// libraries are sonames. Directories are the usual ones of libraries, or directories in which the
/// recording has libraries. What the machine has at the moment decides nothing.
void restrict_libraries(Recording& host, std::vector<std::string>& left_out);

/// A name that a library has: "libcuda.so.1".
bool is_soname(std::string_view name);

/// A path at which users may make files on some machine.
bool is_of_users(std::string_view path);

inline bool is_below_any(std::string_view path, const auto& directories)
{
    return std::ranges::any_of(
        directories, [&](const char* directory) { return base::is_below(path, directory); });
}

} // namespace gpucontainer::simhost
