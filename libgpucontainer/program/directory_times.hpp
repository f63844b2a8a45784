// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <cstdint>

/// The times of directories that names are made in, and must have again once the
/// names are gone. No allocation.
namespace gpucontainer::program {

/// How long after its beginning what was cut off may have changed a directory: later
/// changes are somebody else's.
inline constexpr std::int64_t longest_change = 10'000'000'000;

/// The clock by which the kernel gives files their times.
std::int64_t file_clock() noexcept;

/// Notes the directories and their times before anything is made, so that they are known after
/// a crash too.
bool note_directories(const Program& program, int rootfs_fd) noexcept;

/// Decides, before names are taken away, which time each directory is to have
/// afterwards, so that a crash in between loses none: `parent_before` of all its
/// operations. `changing_since` is when an apply or undo that was cut off began
/// to change directories, 0 if none was. False when a directory could not be looked
/// at: its operations are marked, and `failure` tells of the first.
bool settle_times(const Program& program, int rootfs_fd, std::int64_t changing_since,
                  Failure& failure, int table = mount::own_table) noexcept;

/// After one that was cut off, gives what was settled to directories that it had
/// changed and nothing was left to be taken away in.
bool restore_times(const Program& program, int rootfs_fd, int table = mount::own_table) noexcept;

/// Has the directories written out that names were removed from.
void synchronize_directories(const Program& program, int rootfs_fd,
                             int table = mount::own_table) noexcept;

} // namespace gpucontainer::program
