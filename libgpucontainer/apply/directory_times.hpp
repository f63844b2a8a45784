// SPDX-License-Identifier: MIT
#pragma once

#include "apply/program.hpp"

/// The times of directories that names are made in, and must have again once the
/// names are gone. No allocation.
namespace gpucontainer::apply {

/// Notes them before anything is made, so that they are known after a crash too.
void note_times(const Program& program, int rootfs_fd) noexcept;

/// For a name that was found to be ours after a crash: its directory gets the
/// time back that was noted, unless somebody else changed it since.
void adopt_time(const Program& program, Operation& operation, int rootfs_fd) noexcept;

/// A later name in the same directory that could not be taken away yet has to
/// give the directory the time back that it had before this one too.
void hand_on_time(const Program& program, const Operation& undone) noexcept;

/// Has the directories written out that names were removed from.
void synchronize_directories(const Program& program, int rootfs_fd) noexcept;

} // namespace gpucontainer::apply
