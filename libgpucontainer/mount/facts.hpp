// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"

#include <cstdint>

/// What the kernel tells about a mount. Nothing is allocated, as in mount/calls.hpp.
namespace gpucontainer::mount {

/// Identity of the mount that `fd` is on. If exists() can ask the kernel for it (Linux 6.8), it is
/// never reused. Otherwise it is that of the mount table, which is reused some time. 0 if the
/// kernel does not tell it.
std::uint64_t mount_id(int fd) noexcept;

/// Whether `fd` is on the mount with that identity, of either kind.
bool is_on(int fd, std::uint64_t mount_id) noexcept;

/// Identity of a mount in the mount table; 0 if it is not in this namespace, or unknown.
std::uint64_t table_number(std::uint64_t mount_id) noexcept;

/// False only if certainly no mount with that identity is in this namespace. `table` is its mount
/// table, for kernels that cannot be asked.
bool exists(std::uint64_t mount_id, int table = own_table) noexcept;

/// Whether `fd` is the root of a mount; unknown with errno.
Found find_mount_root(int fd) noexcept;
inline bool is_mount_root(int fd) noexcept { return find_mount_root(fd) == Found::yes; }

Found find_overlay(int fd) noexcept;
/// Whether it is on a file system whose content is lost at a reboot.
Found find_tmpfs(int fd) noexcept;
inline bool is_overlay(int fd) noexcept { return find_overlay(fd) == Found::yes; }
inline bool is_tmpfs(int fd) noexcept { return find_tmpfs(fd) == Found::yes; }

enum class Sharing : std::uint8_t { unknown, isolated, shared };
/// Whether what is mounted below the mount of `fd` appears in other namespaces.
Sharing sharing(int fd, int table = own_table) noexcept;

} // namespace gpucontainer::mount
