// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::syscall {

/// Whether a system call exists. It is called with an invalid descriptor, because a seccomp filter
/// may hide it on any kernel.
bool has_call(long number) noexcept;

/// Whether a process has ended, or the descriptor is not one of a process.
bool has_ended(int pidfd) noexcept;

/// Whether this program has more privileges than the user who started it: it is setuid, setgid or
/// has file capabilities.
bool is_raised() noexcept;

} // namespace gpucontainer::syscall
