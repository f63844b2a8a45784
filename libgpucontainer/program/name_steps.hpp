// SPDX-License-Identifier: MIT
#pragma once

#include "mount/table.hpp"
#include "program/failure.hpp"
#include "program/program.hpp"

/// Steps that make names in a container, and their inverses. No allocation.
namespace gpucontainer::program {

/// Makes the name of an operation, and notes what was made.
bool make_name(const Program& program, Operation& operation, int rootfs_fd,
               Failure& failure) noexcept;

/// Removes it if it is still ours. The directory gets its mtime back if nobody else changed it
/// since.
bool remove_name(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                 int table = mount::own_table) noexcept;

/// Removes the replaced file under the kept name, after a replacement that will not be undone.
bool forget_replaced(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

bool is_name_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept;

} // namespace gpucontainer::program
