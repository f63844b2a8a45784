// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

/// Steps that mount in a container, and their inverses. No allocation.
namespace gpucontainer::program {

/// Opens what the path of an operation leads to, with O_PATH; none with errno.
base::UniqueFd open_target(const Program& program, const Operation& operation,
                           int rootfs_fd) noexcept;

/// Mounts what the operation says, and notes which mount that is. `table` is the mount table of a
/// root that cannot be reached from the thread's own.
bool attach_mount(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                  int table) noexcept;

/// Unmounts it if it is still there and nobody mounted anything below it.
bool detach_mount(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                  int table) noexcept;

} // namespace gpucontainer::program
