// SPDX-License-Identifier: MIT
#pragma once

#include "mount/way.hpp"

#include <cstdint>

/// Mount system calls on descriptors, as thin as they come: each returns what
/// the kernel returned (-1 and errno on failure), allocates nothing, takes no
/// lock and is safe between clone and exec of a threaded process. In a way whose mounts are
/// never detached, what is said to be attached nowhere is on the bench's scratch directory, and
/// all of it needs /proc.
namespace gpucontainer::mount {

/// Who needs something that not every way can asks it, and not which one it is.
const Way& way_of(Backend backend) noexcept;

/// A copy of the mount at `path` below `dir_fd`, attached nowhere; without the
/// mounts below it unless `recursive`. With an empty path, of `dir_fd` itself.
int clone_tree(const Bench& bench, int dir_fd, const char* path, bool recursive) noexcept;

/// A copy of the mount at `fd` with those below, all of them private: what becomes of
/// it reaches none of the originals.
int clone_private(const Bench& bench, int fd) noexcept;

/// Attaches `tree_fd` onto exactly what `target_fd` refers to.
int attach(const Bench& bench, int tree_fd, int target_fd) noexcept;

/// Attaches onto a path below a mount of our own making.
int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept;

/// Attaches a copy of the mount at `source_fd`, with those below it, at a path below an
/// attached mount of our own making. Returns a descriptor of it.
int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept;

/// Sets attributes (MOUNT_ATTR_*) and, unless 0, the propagation (MS_*). `recursive`: also of
/// those below, but for the attributes where Way::sets_below is false.
int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept;

/// A new tmpfs, attached nowhere; its directory has mode 0755. All in it has the SELinux
/// `label`, unless that is empty or null.
int new_tmpfs(const Bench& bench, const char* label) noexcept;

/// A read-only overlay of `upper_fd` over `lower_fd`, itself attached nowhere.
/// Both are on attached mounts: before Linux 6.15 no others can be layers, and
/// later only those of the caller's own user namespace. Needs /proc. `label` as for
/// a tmpfs.
int new_overlay(const Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept;

/// Makes the file system of a mount read-only, wherever else it is mounted. Where mounts
/// are detached.
int make_read_only(int fd) noexcept;

} // namespace gpucontainer::mount
