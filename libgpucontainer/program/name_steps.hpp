// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

/// Steps that make names in a container, and their inverses. No allocation.
namespace gpucontainer::program {

/// Makes the name of one operation and notes what was made.
bool make_name(const Program& program, Operation& operation, int rootfs_fd,
               Failure& failure) noexcept;

/// Removes it again where it is still ours, and gives the directory its mtime
/// back where nobody else changed it since.
bool remove_name(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                 int table = mount::own_table) noexcept;

/// After a file was replaced for good: removes the one that it replaced, where that is what
/// lies beside it.
bool forget_replaced(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

bool is_name_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
