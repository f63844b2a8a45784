// SPDX-License-Identifier: MIT
#pragma once

#include "linking/loader.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::linking {

/// The directories of an RPATH, RUNPATH or variable that are there, each once and without links in
/// it: $ORIGIN, $LIB and $PLATFORM are replaced as the loader does. `origin` is the directory of
/// the file. Relative ones are left out, as nobody knows the working directory.
std::vector<std::string> existing_directories(Files& files, const Loader& loader,
                                              std::span<const std::string> path,
                                              const std::string& origin);

/// A path with these words replaced; several if $LIB is in it and not known.
std::vector<std::string> expand(const Loader& loader, std::string_view text,
                                const std::string& origin);

/// The parts of a text between any of the separators, without empty ones. There are at most some.
std::vector<std::string> parts_of(std::string_view text, std::string_view separators);

} // namespace gpucontainer::linking
