// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/catalogue_file.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// What a list of names says: less than a catalogue, so that its rules are
/// guesses where a catalogue knows better.
struct LibraryList {
    std::vector<FileRule> rules;    ///< Unversioned, for `compute`, each file once.
    std::vector<std::string> paths; ///< Entries that are neither library nor tool names.
};

/// Reads a list in the form of Apptainer's nvliblist.conf: a name a line, empty
/// lines and those that begin with '#' left out. A name with ".so" in it is a
/// library, an absolute path a file, anything else a tool. Fails on the first
/// name that no file can have, with its line. At most 4096 names.
Result<LibraryList> parse_library_list(std::string_view text, std::string_view vendor);

} // namespace gpucontainer::config
