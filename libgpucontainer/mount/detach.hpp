// SPDX-License-Identifier: MIT
#pragma once

/// Unmounting by descriptor, whatever way the mount was made in. As the calls in
/// mount/calls.hpp.
namespace gpucontainer::mount {

/// Detaches what is uppermost where the root of a mount is that `fd` refers to: that
/// mount, or who lies over it by now; needs /proc.
int detach(int fd) noexcept;

/// Same of a directory, but EBUSY where another mount lies over that of `fd`, or nothing tells.
int detach_uncovered(int fd) noexcept;

} // namespace gpucontainer::mount
