// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::journal {

/// Identity of a file system, which stays the same on another device and after mounting it again.
/// All subvolumes of btrfs have the same. `fd` is any directory of it, and may be O_PATH. 0 if
/// there is no identity but the device number, which another file system may get later, as for FAT
/// and F2FS.
std::uint64_t file_system_id(int fd, std::uint64_t subvolume);

} // namespace gpucontainer::journal
