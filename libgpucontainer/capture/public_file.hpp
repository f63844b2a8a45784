// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstddef>
#include <string>

/// A report is passed on to strangers, and root writes one, who may read everything.
namespace gpucontainer::capture {

/// Opens a regular file that everybody may read, at an absolute path without links. What was
/// checked is what is opened. Errors: permission, if not everybody may; those of open().
Result<base::UniqueFd> open_public(const std::string& path);

/// Reads a file of the kernel that everybody may read, up to `limit` bytes. Links are followed.
/// Errors: the same.
Result<std::string> read_public(const std::string& path, std::size_t limit);

} // namespace gpucontainer::capture
