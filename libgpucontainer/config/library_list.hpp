// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/catalogue_file.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// The content of a list of names. It says less than a catalogue, whose rules for the same files
/// are better.
struct LibraryList {
    std::vector<FileRule> rules;    ///< Unversioned, for `compute`, each file once.
    std::vector<std::string> paths; ///< Entries that are neither library nor tool names.
};

/// Reads a list in the form of Apptainer's nvliblist.conf: one name on each line. Empty lines and
/// lines that begin with '#' are ignored. A name with ".so" in it is a library, an absolute path
/// a file, anything else a tool. Fails with the line of the first name that no file can have. At
/// most 4096 names.
Result<LibraryList> parse_library_list(std::string_view text, std::string_view vendor);

} // namespace gpucontainer::config
