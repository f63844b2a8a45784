// SPDX-License-Identifier: MIT
#pragma once

#include "syscall/unique_fd.hpp"

namespace gpucontainer::syscall {

/// The root of /proc, opened with O_PATH. None with errno: EXDEV where that is not the kernel's,
/// or a part of it.
UniqueFd open_proc() noexcept;

/// Opens a file below it without going over to another mount on the way: EXDEV. Links of the
/// kernel's are not followed.
UniqueFd open_in_proc(int proc, const char* path, unsigned flags) noexcept;

/// Below it, the calling thread's directory of descriptors.
inline constexpr const char* own_descriptors = "thread-self/fd";

} // namespace gpucontainer::syscall
