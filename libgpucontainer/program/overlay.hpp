// SPDX-License-Identifier: MIT
#pragma once

#include "mount/aside.hpp"
#include "program/program.hpp"

/// Our names over directories of a container. No allocation.
namespace gpucontainer::program {

/// What failed when there was no overlay.
inline constexpr const char* overlay_step = "overlay names over";

/// Makes what lies over the directory of `target_fd`, the operation's, for it to be attached
/// there: an overlay of the operation's names, or where the kernel makes none a list of them
/// and of what the directory has. Where our names lie over it still, which were a layer, the
/// operation is done as far as undo is concerned.
mount::Over lay_names(const Program& program, const mount::Bench& bench, Operation& operation,
                      int target_fd, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
