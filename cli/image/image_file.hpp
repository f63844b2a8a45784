// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gpuctr_cli {

/// A root file system in squashfs that is a file, or a part of one. Whoever made the file may be
/// hostile.
struct ImageFile {
    Fd file;          ///< Open for reading.
    std::string name; ///< For messages.
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    bool is_signed = false;   ///< Nothing here checks signatures.
    bool has_overlay = false; ///< The file has changes for the image too, which are not in it.
};

/// What an image is opened for. To be looked at, it may be an archive of layers too, which has no
/// such place.
enum class ImageUse { mounted, looked_at };

/// Opens a regular file: squashfs, or a SIF whose root file system is that. None if `path` is
/// something else, such as a directory, or nothing. Throws gpucontainer::Error: rootfs,
/// permission, and requirement if it is an image of a kind that cannot be used.
std::optional<ImageFile> open_image_file(const std::string& path, ImageUse use);
/// The same for a file that the caller has open for reading.
std::optional<ImageFile> open_image_file(int fd, std::string name, ImageUse use);

} // namespace gpuctr_cli
