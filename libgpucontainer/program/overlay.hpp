// SPDX-License-Identifier: MIT
#pragma once

#include "mount/aside.hpp"
#include "program/program.hpp"

/// Our names over directories of a container. No allocation.
namespace gpucontainer::program {

/// The step in an error if there is no overlay.
inline constexpr const char* overlay_step = "overlay names over";

/// Makes the mount to attach over the operation's directory, `target_fd`: an overlay of the
/// operation's names, or, if the kernel cannot make that, a listing of them and of what the
/// directory has. On failure, the names may still be mounted there as a layer; then the operation
/// counts as done, so that undo unmounts them.
mount::Over lay_names(const Program& program, const mount::Bench& bench, Operation& operation,
                      int target_fd, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
