// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::mount {

/// Runs in a Child. Enters a copy of the mount namespace, whose mounts appear nowhere else. The
/// root directory becomes that of the namespace, even after a chroot(). So "/" is a mount, and what
/// is mounted on it stays private. False with errno.
bool enter_private_copy() noexcept;

} // namespace gpucontainer::mount
