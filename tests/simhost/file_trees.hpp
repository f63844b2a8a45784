// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"
#include "tree.hpp"

namespace gpucontainer::simhost {

/// Writes what lies over the machine's /usr, /etc and so on: stub libraries and
/// tools, links, small files, the loader's configuration, and whiteouts over
/// GPU drivers of the machine's own. Paths in `tree` are those of the machine.
Result<void> lay_files(const Recording& host, Tree& tree);

/// The first components of the paths in a tree that lay_files() has written.
Result<std::vector<std::string>> top_directories(const Tree& tree);

} // namespace gpucontainer::simhost
