// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::mount {

/// Whether one directory lies in another, or is it, by where both are in their file system:
/// a mount of a directory within `outer` shows nothing of that above itself. By the mount
/// table of this namespace, which is read only where `inner` is on a mount that could be
/// one. False where it does not tell, as of a directory of another namespace.
bool lies_within(int inner, int outer);

/// Whether a file system, by its device number, is mounted in this namespace; true also where
/// that cannot be told. Not for those that have other numbers for their files, as btrfs.
bool is_mounted(std::uint64_t device);

} // namespace gpucontainer::mount
