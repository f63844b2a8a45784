// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"
#include "mount/table.hpp"

/// The mounts below a directory over which another mount is attached. Nothing is allocated, as in
/// mount/calls.hpp.
namespace gpucontainer::mount {

/// Clones the mounts below the directory `covered_fd` and attaches them at the same names below
/// `over_fd`, the root of a mount over it. The clones are slaves of their originals, so mounts made
/// on them later do not propagate to these. Returns 0, or -1 and errno if one cannot be cloned;
/// those that were attached are unmounted with the mount of `over_fd`. Needs /proc. EXDEV: the
/// directory cannot be reached from the thread's root, so the places of the mounts are unknown;
/// then `table` must have been opened where it can be reached.
int carry_submounts(const Bench& bench, int covered_fd, int over_fd,
                    int table = own_table) noexcept;

/// The same with the mount table in /proc: for kernels before Linux 6.8, and if a seccomp filter
/// hides listmount.
int carry_submounts_by_table(const Bench& bench, int covered_fd, int over_fd,
                             int table = own_table) noexcept;

} // namespace gpucontainer::mount
