// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"
#include "mount/table.hpp"

#include <cstdint>

/// Mount system calls on descriptors, as thin as they come: each returns what
/// the kernel returned (-1 and errno on failure), allocates nothing, takes no
/// lock and is safe between clone and exec of a threaded process. With the legacy
/// backend, what is said to be attached nowhere is on the bench's stage, and all of it
/// needs /proc.
namespace gpucontainer::mount {

/// A copy of the mount at `path` below `dir_fd`, attached nowhere; without the
/// mounts below it unless `recursive`. With an empty path, of `dir_fd` itself.
int clone_tree(Bench& bench, int dir_fd, const char* path, bool recursive) noexcept;

/// A copy of the mount at `fd` with those below, all of them private: what becomes of
/// it reaches none of the originals.
int clone_private(Bench& bench, int fd) noexcept;

/// Attaches `tree_fd` onto exactly what `target_fd` refers to.
int attach(const Bench& bench, int tree_fd, int target_fd) noexcept;

/// Attaches onto a path below a mount of our own making.
int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept;

/// Attaches a copy of the mount at `source_fd`, with those below it, at a path below an
/// attached mount of our own making. Returns a descriptor of it.
int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept;

/// Sets attributes (MOUNT_ATTR_*) and, unless 0, the propagation (MS_*). The legacy
/// backend leaves those below theirs, but for the propagation.
int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept;

/// Makes the file system of a mount read-only, wherever else it is mounted. Not with
/// the legacy backend.
int make_read_only(int fd) noexcept;

/// A new tmpfs, attached nowhere; its directory has mode 0755. All in it has the SELinux
/// `label`, unless that is empty or null.
int new_tmpfs(Bench& bench, const char* label) noexcept;

/// A read-only overlay of `upper_fd` over `lower_fd`, itself attached nowhere.
/// Both are on attached mounts: before Linux 6.15 no others can be layers, and
/// later only those of the caller's own user namespace. Needs /proc. `label` as for
/// a tmpfs.
int new_overlay(Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept;

/// Detaches what is uppermost where the root of a mount is that `fd` refers to: that
/// mount, or who lies over it by now; needs /proc.
int detach(int fd) noexcept;

/// Same of a directory, but EBUSY where another mount lies over that of `fd`, or nothing tells.
int detach_uncovered(int fd) noexcept;

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

/// Flags of the mount that `fd` is on, ST_* of statfs(); false with errno.
bool read_flags(int fd, std::uint64_t& flags) noexcept;

Found find_overlay(int fd) noexcept;
/// Whether on a file system whose content is gone with the boot.
Found find_tmpfs(int fd) noexcept;
inline bool is_overlay(int fd) noexcept { return find_overlay(fd) == Found::yes; }
inline bool is_tmpfs(int fd) noexcept { return find_tmpfs(fd) == Found::yes; }

enum class Sharing : std::uint8_t { unknown, isolated, shared };
/// Whether what is mounted below the mount of `fd` shows in other namespaces.
Sharing sharing(int fd, int table = own_table) noexcept;

} // namespace gpucontainer::mount
