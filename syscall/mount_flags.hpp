// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::syscall {

/// Flags of the mount that `fd` is on, ST_* of statfs(); false with errno.
bool read_mount_flags(int fd, std::uint64_t& flags) noexcept;

/// What mount(2) has to be told to leave a mount as statfs() shows it: in a user
/// namespace it has to stay that.
unsigned long to_mount_flags(std::uint64_t statfs_flags) noexcept;

/// Adds flags of mount(2) to those of one mount, whose root `fd` is; -1 with errno.
int add_mount_flags(int fd, unsigned long flags) noexcept;

} // namespace gpucontainer::syscall
