// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "image/file_system.hpp"

#include <cstdint>
#include <memory>

namespace gpucontainer::image {

/// Of each file as much comes into its descriptor as is asked for, and no more than this; and no
/// more of all files of an image together.
constexpr std::uint64_t most_of_file = std::uint64_t{64} << 20U;
constexpr std::uint64_t most_of_files = std::uint64_t{512} << 20U;

/// A file of an image as a file in memory, into which its parts come when they are fetched. Each
/// part is taken off `budget`; it and the file system stay as long as the file. Errors: EFBIG, if
/// it is larger than this process may make files.
Result<base::OpenFile> open_in_parts(std::shared_ptr<FileSystem> files, Reference place,
                                     std::uint64_t size, std::shared_ptr<std::uint64_t> budget);

} // namespace gpucontainer::image
