// SPDX-License-Identifier: MIT
#pragma once

namespace gpucontainer::syscall {

/// Whether a system call is there, by one with a descriptor that cannot be valid. A seccomp
/// filter may hide it on any kernel.
bool has_call(long number) noexcept;

/// Whether a process has ended, or the descriptor is none of a process.
bool has_ended(int pidfd) noexcept;

/// Whether this program has more privileges than who started it: it is setuid, setgid or has
/// file capabilities.
bool is_raised() noexcept;

} // namespace gpucontainer::syscall
