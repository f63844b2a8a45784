// SPDX-License-Identifier: MIT
#pragma once

/// Mounts over a directory. A descriptor that was opened before them does not show them.
namespace gpucontainer::mount {

/// Opens the root of the topmost mount over `directory` with O_PATH, or `directory` itself,
/// whatever path leads there. Without openat2, a short-lived child does so, which needs
/// CAP_SYS_CHROOT; without that, the result is the same directory as it is visible at its path.
/// Allocates nothing. -1 with errno if it is unknown.
int open_uppermost(int directory) noexcept;

} // namespace gpucontainer::mount
