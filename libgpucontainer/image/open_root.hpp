// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "privilege/file_owner.hpp"
#include "rootfs/view.hpp"

#include <memory>
#include <optional>

namespace gpucontainer::image {

/// Whether it is a regular file, as an image is.
bool is_file(int fd);

/// Opens a root file system: a directory, as rootfs::Root does, or a file with an image, which is
/// read by a process of its own (open_confined()): squashfs, a SIF, or an archive of layers. `fd`
/// is borrowed; of a file, it has to be open for reading. Errors: rootfs; requirement, for an image
/// that cannot be read here.
Result<std::unique_ptr<rootfs::RootView>>
open_root(int fd, const std::optional<privilege::Owner>& owner = {});

} // namespace gpucontainer::image
