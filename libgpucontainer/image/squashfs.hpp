// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"
#include "image/place.hpp"

#include <memory>

namespace gpucontainer::image {

/// The functions of libsquashfs, which is loaded when an image is to be read: programs that read
/// none do without it.
struct SquashFunctions;

/// Errors: requirement, if it is not installed.
Result<std::shared_ptr<const SquashFunctions>> load_squash_functions();

/// Reads squashfs of a file with libsquashfs, in this process: `fd` is borrowed for the lifetime of
/// the result. Its code has not been written for hostile images alone, so other processes than that
/// of Confined should not.
Result<std::unique_ptr<FileSystem>> open_squashfs(std::shared_ptr<const SquashFunctions> functions,
                                                  int fd, const Place& place);

} // namespace gpucontainer::image
