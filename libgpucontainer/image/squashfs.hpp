// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"
#include "image/place.hpp"
#include "image/squash_functions.hpp"

#include <memory>

namespace gpucontainer::image {

/// Reads squashfs of a file with libsquashfs, in this process: `fd` is borrowed for the lifetime of
/// the result. Its code has not been written for hostile images alone, so other processes than that
/// of Confined should not.
Result<std::unique_ptr<FileSystem>> open_squashfs(std::shared_ptr<const SquashFunctions> functions,
                                                  int fd, const Place& place);

} // namespace gpucontainer::image
