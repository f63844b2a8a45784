// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

namespace gpucontainer::program {

/// Performs every operation below `rootfs_fd`, or none. It only makes system calls, so it is safe
/// between clone and exec of a threaded process. `table` is the mount table of a root that is not
/// reached from the thread's own.
bool attach(const Program& program, int rootfs_fd, Failure& failure,
            int table = mount::own_table) noexcept;

/// Notes which mounts will be attached, so that they are known after a crash.
void note_mounts(const Program& program) noexcept;

/// Notes the mounts below the directories that attach() mounted. They are ours; those found there
/// later are somebody else's. Call it after attach().
void note_mounts_below(const Program& program, int rootfs_fd,
                       int table = mount::own_table) noexcept;

/// Undoes what attach() did, newest first. What is no longer as attach() left it, stays. What is
/// gone already, is not a failure. After a failure it goes on with the rest, and reports the first
/// failure.
bool undo(const Program& program, int rootfs_fd, Failure& failure,
          int table = mount::own_table) noexcept;

/// The two halves of undo(), with settle_times() between them: names are visible when nothing is
/// mounted over them any more. Names stay whose directory settle_times() could not look at.
bool undo_mounts(const Program& program, int rootfs_fd, Failure& failure,
                 int table = mount::own_table) noexcept;
bool undo_names(const Program& program, int rootfs_fd, Failure& failure,
                int table = mount::own_table) noexcept;

/// Whether what attach() did for the operation, or for all of them, is still there.
bool is_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept;
bool is_intact(const Program& program, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
