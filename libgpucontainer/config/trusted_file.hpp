// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::config {

/// Text of a file that decides for its reader: a regular file, of root or of the
/// caller, that not everybody may write. None when it is missing. Errors:
/// permission, usage for something that is no file or too large.
Result<std::optional<std::string>> read_trusted(const std::string& path);

/// Paths of what lies in such a directory, sorted by name; none when it is
/// missing. The files are not looked at.
Result<std::vector<std::string>> list_trusted(const std::string& directory);

} // namespace gpucontainer::config
