// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

namespace gpucontainer::program {

/// Carries every operation out below `rootfs_fd`, or none. System calls only:
/// safe between clone and exec of a threaded process. `table` is the mount table of
/// a root that is not reached from the thread's own.
bool attach(const Program& program, int rootfs_fd, Failure& failure,
            int table = mount::own_table) noexcept;

/// Notes which mounts are to be attached, so that they are known after a crash too.
void note_mounts(const Program& program) noexcept;

/// Notes what is mounted below the directories that attach() mounted: mounts of ours.
/// Those that are found there later are somebody else's. To be called after attach().
void note_mounts_below(const Program& program, int rootfs_fd,
                       int table = mount::own_table) noexcept;

/// Takes back what attach() did, newest first. What is no longer as attach()
/// left it stays; what is gone already is no failure. On failure goes on with
/// the rest and reports the first.
bool undo(const Program& program, int rootfs_fd, Failure& failure,
          int table = mount::own_table) noexcept;

/// The two halves of that, between which settle_times() has its place: names show
/// once nothing lies over them any more. Those stay whose directory that could not look
/// at.
bool undo_mounts(const Program& program, int rootfs_fd, Failure& failure,
                 int table = mount::own_table) noexcept;
bool undo_names(const Program& program, int rootfs_fd, Failure& failure,
                int table = mount::own_table) noexcept;

/// True when what attach() did for the operation, or for all of them, is still
/// there.
bool is_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept;
bool is_intact(const Program& program, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
