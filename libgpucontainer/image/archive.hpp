// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "image/file_system.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace gpucontainer::image {

/// Whether a file begins like a tar, as archives of images do. `fd` is open for reading.
bool is_archive(int fd);

/// The program that compresses like this; "" if the bytes begin like nothing that is known.
std::string_view compression_of(std::string_view bytes);

/// Reads the image in an archive, a tar of `size` bytes with a manifest and layers that are tars:
/// of docker save, podman save and skopeo, or an OCI layout. In this process, so that others than
/// that of Confined should not. `fd` is borrowed for the lifetime of the result. Errors: refusals,
/// and those of LayerTree.
Result<std::unique_ptr<FileSystem>> open_archive(int fd, std::uint64_t size);

} // namespace gpucontainer::image
