// SPDX-License-Identifier: MIT
#pragma once

#include "syscall/unique_fd.hpp"

namespace gpucontainer::syscall {

/// The root of /proc, opened with O_PATH. None with errno; EXDEV if it is not the kernel's, or only
/// a part of it.
UniqueFd open_proc() noexcept;

/// Opens a file below it. EXDEV if another mount is on the way. The kernel's magic links are not
/// followed.
UniqueFd open_in_proc(int proc, const char* path, unsigned flags) noexcept;

/// The calling thread's directory of descriptors, below it.
inline constexpr const char* own_descriptors = "thread-self/fd";

} // namespace gpucontainer::syscall
