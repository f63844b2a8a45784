// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::syscall {

/// Flags of the mount that `fd` is on, ST_* of statfs(); false with errno.
bool read_mount_flags(int fd, std::uint64_t& flags) noexcept;

/// The flags with which mount(2) leaves a mount as statfs() shows it. In a user namespace, it must
/// stay so.
unsigned long to_mount_flags(std::uint64_t statfs_flags) noexcept;

/// Adds flags of mount(2) to the mount whose root is `fd`; -1 with errno.
int add_mount_flags(int fd, unsigned long flags) noexcept;

} // namespace gpucontainer::syscall
