// SPDX-License-Identifier: MIT
#pragma once

#include "mount/bench.hpp"
#include "mount/table.hpp"

/// What lies below a directory when another mount comes to lie over it. As free
/// of allocation as the calls in mount/calls.hpp.
namespace gpucontainer::mount {

/// Clones the mounts below the directory of `covered_fd` and attaches them at the
/// same names below `over_fd`, the root of a mount that lies over it. The clones
/// are slaves of the mounts that they show: nothing that is mounted on them later
/// gets out. Returns 0, or -1 and errno when one cannot be kept; those that were
/// attached go with the mount of `over_fd`. Needs /proc. EXDEV: the directory is not
/// reached from the thread's root, so nothing tells where they are; then `table` has
/// to be one that was opened where it is.
int carry_submounts(const Bench& bench, int covered_fd, int over_fd,
                    int table = own_table) noexcept;

/// Same with the mount table of /proc: for kernels before Linux 6.8, and where a
/// seccomp filter hides listmount.
int carry_submounts_by_table(const Bench& bench, int covered_fd, int over_fd,
                             int table = own_table) noexcept;

} // namespace gpucontainer::mount
