// SPDX-License-Identifier: MIT
#pragma once

#include "mount/way.hpp"

#include <cstdint>

/// Mount system calls on descriptors. Each returns what the kernel returned (-1 and errno on
/// failure), allocates nothing, takes no lock and is safe between clone and exec of a threaded
/// process. If mounts are never detached (Way::detached is false), a mount that is "attached
/// nowhere" is on the bench's scratch directory, and all calls need /proc.
namespace gpucontainer::mount {

/// The way of a backend. A caller that needs something that not every way can do asks its members,
/// not which way it is.
const Way& way_of(Backend backend) noexcept;

/// A copy of the mount at `path` below `dir_fd`, attached nowhere. With `recursive`, the mounts
/// below it are copied too. An empty path means `dir_fd` itself.
int clone_tree(const Bench& bench, int dir_fd, const char* path, bool recursive) noexcept;

/// A copy of the mount at `fd` with those below, all of them private: changes to them do not
/// propagate to the originals.
int clone_private(const Bench& bench, int fd) noexcept;

/// Attaches `tree_fd` at exactly what `target_fd` refers to.
int attach(const Bench& bench, int tree_fd, int target_fd) noexcept;

/// Attaches it at a path below a mount that we made.
int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept;

/// Attaches a copy of the mount at `source_fd`, with those below it, at a path below an attached
/// mount that we made. Returns a descriptor of the copy.
int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept;

/// Sets attributes (MOUNT_ATTR_*) and, unless it is 0, the propagation (MS_*). `recursive`: also
/// for the mounts below; if Way::sets_below is false, only the propagation.
int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept;

/// A new tmpfs, attached nowhere. Its directory has mode 0755. All files in it have the SELinux
/// `label`, unless that is empty or null.
int new_tmpfs(const Bench& bench, const char* label) noexcept;

/// A read-only overlay of `upper_fd` over `lower_fd`, attached nowhere. Both must be on attached
/// mounts: others can be layers only since Linux 6.15, and only in the caller's own user namespace.
/// Needs /proc. `label` is as for a tmpfs.
int new_overlay(const Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept;

/// Makes the file system of a mount read-only, wherever it is mounted. Only if Way::detached is
/// true.
int make_read_only(int fd) noexcept;

} // namespace gpucontainer::mount
