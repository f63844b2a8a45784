// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::journal {

/// What a file system is known by, whatever device it is on and whenever it is mounted; for each
/// subvolume of btrfs the same. `fd` is any directory of it, maybe opened by O_PATH. 0 where
/// nothing tells it from another one that has its device number later, as of FAT and F2FS.
std::uint64_t file_system_id(int fd, std::uint64_t subvolume);

} // namespace gpucontainer::journal
