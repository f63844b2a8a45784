// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace gpucontainer::config {

/// Whether a file decides for its reader: one of root's or of the caller, that not
/// everybody may write. Errors: permission.
Result<void> check_trust(const struct stat& status, const std::string& path);

/// Text of a regular file that decides for its reader. None when it is missing. Errors:
/// as of check_trust(); usage for something that is no file or too large.
Result<std::optional<std::string>> read_trusted(const std::string& path);

/// Paths of what lies in such a directory, sorted by name; none when it is
/// missing. The files are not looked at.
Result<std::vector<std::string>> list_trusted(const std::string& directory);

} // namespace gpucontainer::config
