// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"

#include <cstdint>

/// mount(2) on descriptors, by their paths in /proc. What is made is the descriptor of
/// the root of a mount on the bench's scratch directory; it stays that when the mount is moved.
/// Returns and limits as in mount/calls.hpp.
namespace gpucontainer::mount::legacy {

int bind(Bench& bench, int dir_fd, const char* path, bool recursive) noexcept;
/// With those below it, at a path below a mount of ours instead of there.
int bind_below(int source_fd, int base_fd, const char* path) noexcept;
int mount(Bench& bench, const char* type, unsigned long flags, const char* options,
          const char* label) noexcept;
int overlay(Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
            const char* label) noexcept;

int move(int mount_fd, int target_fd) noexcept;

/// What mount(2) has to be told to leave a mount as statfs() shows it: in a user
/// namespace it has to stay that.
unsigned long to_mount_flags(std::uint64_t statfs_flags) noexcept;

/// Attributes (MOUNT_ATTR_*) come to those that there are, of this mount alone; the
/// propagation may be that of those below, too.
int change(int mount_fd, std::uint64_t attributes, std::uint64_t propagation,
           bool recursive) noexcept;

} // namespace gpucontainer::mount::legacy
