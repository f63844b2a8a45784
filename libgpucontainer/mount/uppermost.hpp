// SPDX-License-Identifier: MIT
#pragma once

/// Mounts that lie over a directory: a descriptor that was opened before them does not
/// show them.
namespace gpucontainer::mount {

/// By O_PATH, the root of the mount that lies uppermost over `directory`, or that itself,
/// whatever path leads there. Where there is no openat2 a short-lived child tells, which needs
/// CAP_SYS_CHROOT; without, the same directory as it is seen at its path. Allocates nothing. -1
/// with errno where nothing tells.
int open_uppermost(int directory) noexcept;

} // namespace gpucontainer::mount
