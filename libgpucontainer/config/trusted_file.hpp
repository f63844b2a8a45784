// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::config {

/// Text of a regular file that decides for its reader: base::check_trust() and all
/// directories on the way say so. None when it is missing. Errors: permission; usage for
/// something that is no file or too large.
Result<std::optional<std::string>> read_trusted(const std::string& path);

/// Paths of what lies in a directory of that kind, sorted by name; none when it is
/// missing. The files are not looked at.
Result<std::vector<std::string>> list_trusted(const std::string& directory);

} // namespace gpucontainer::config
