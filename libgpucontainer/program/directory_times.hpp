// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

#include <cstdint>

/// The modification times of directories in which names are made. They are restored when the names
/// are removed. No allocation.
namespace gpucontainer::program {

/// How long after its beginning an interrupted operation may have changed a directory. Changes
/// after that count as somebody else's.
inline constexpr std::int64_t longest_change = 10'000'000'000;

/// The clock from which the kernel takes the times of files.
std::int64_t file_clock() noexcept;

/// Notes the directories and their times. Call it before anything is made, so that they are known
/// after a crash.
bool note_directories(const Program& program, int rootfs_fd) noexcept;

/// Decides which time each directory will have after names are removed, and sets `parent_before` of
/// all its operations to that. Call it before removing names, so that a crash loses no time.
/// `changing_since` is when an interrupted apply or undo began to change directories; 0: none was
/// interrupted. False if a directory could not be looked at: its operations are marked, and
/// `failure` has the first one.
bool settle_times(const Program& program, int rootfs_fd, std::int64_t changing_since,
                  Failure& failure, int table = mount::own_table) noexcept;

/// After an interrupted apply or undo, sets the settled time of directories that it changed, and in
/// which nothing was left to remove.
bool restore_times(const Program& program, int rootfs_fd, int table = mount::own_table) noexcept;

/// Writes the directories to disk from which names were removed.
void synchronize_directories(const Program& program, int rootfs_fd,
                             int table = mount::own_table) noexcept;

} // namespace gpucontainer::program
