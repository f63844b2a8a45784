// SPDX-License-Identifier: MIT
#pragma once

/// Unmounting by descriptor, for mounts made in any way. The rules of mount/calls.hpp apply.
namespace gpucontainer::mount {

/// Detaches the topmost mount at the place of a mount whose root is `fd`: that mount, or one that
/// somebody mounted over it. Needs /proc.
int detach(int fd) noexcept;

/// The same for a directory, but EBUSY if another mount is over that of `fd`, or it is unknown.
int detach_uncovered(int fd) noexcept;

} // namespace gpucontainer::mount
