// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>

namespace gpucontainer::image {

/// Where an image that is one file has its root file system, which is squashfs.
struct Place {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool is_signed = false;   ///< Nothing here checks signatures.
    bool has_overlay = false; ///< The file has changes for the image too, which are not in it.
};

/// The object of the error about an archive of layers, of which none is mounted.
constexpr const char* archive_kind = "archive";

/// Finds the root file system in a regular file, which whoever made it may have made hostile:
/// squashfs, or a SIF with it. It lies within the file and begins like squashfs. Errors: rootfs;
/// requirement, if it is whole, and of a kind that cannot be used.
Result<Place> find_root_file_system(int fd);

} // namespace gpucontainer::image
