// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"

#include <cstdint>

/// What the kernel tells of a mount. As free of allocation as the calls in mount/calls.hpp.
namespace gpucontainer::mount {

/// Identity of the mount that `fd` is on: never reused where exists() can ask the
/// kernel for it (Linux 6.8), otherwise that of the mount table, reused in time.
/// 0 when the kernel does not tell.
std::uint64_t mount_id(int fd) noexcept;

/// True when `fd` is on the mount of that identity, whichever of both it is.
bool is_on(int fd, std::uint64_t mount_id) noexcept;

/// Identity of a mount in the mount table; 0 when it is not in this namespace, or not known.
std::uint64_t table_number(std::uint64_t mount_id) noexcept;

/// True unless it is certain that no mount of that identity is in this namespace.
/// `table` is its mount table where the kernel cannot be asked.
bool exists(std::uint64_t mount_id, int table = own_table) noexcept;

/// Whether `fd` is the root of a mount; unknown with errno.
Found find_mount_root(int fd) noexcept;
inline bool is_mount_root(int fd) noexcept { return find_mount_root(fd) == Found::yes; }

Found find_overlay(int fd) noexcept;
/// Whether on a file system whose content is gone with the boot.
Found find_tmpfs(int fd) noexcept;
inline bool is_overlay(int fd) noexcept { return find_overlay(fd) == Found::yes; }
inline bool is_tmpfs(int fd) noexcept { return find_tmpfs(fd) == Found::yes; }

enum class Sharing : std::uint8_t { unknown, isolated, shared };
/// Whether what is mounted below the mount of `fd` shows in other namespaces.
Sharing sharing(int fd, int table = own_table) noexcept;

} // namespace gpucontainer::mount
