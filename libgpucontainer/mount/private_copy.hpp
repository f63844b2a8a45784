// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::mount {

/// Runs in a Child: enters a copy of the mount namespace, of which nothing shows elsewhere. Its
/// root directory is that of the process, also where that was in a chroot(): "/" is a mount, which
/// has what is mounted on it to itself. False with errno.
bool enter_private_copy() noexcept;

} // namespace gpucontainer::mount
