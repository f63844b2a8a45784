// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "syscall/process.hpp"

#include <string>

namespace gpucontainer::privilege {

/// The pid in this /proc of the process that a pidfd refers to. What is read by pid is of that
/// process if has_ended() is false afterwards. Errors: rootfs if it has ended or is not visible in
/// /proc; usage if it is not a pidfd; requirement.
Result<std::string> number_of(int proc, int pidfd);

using syscall::has_ended;

/// Opens a file below /proc/PID. Errors: rootfs if the process has ended; permission; requirement.
Result<std::string> read_of_process(int proc, const std::string& path);

/// The error for a file below /proc/PID that cannot be read.
Error cannot_look_at(int os_error, const std::string& path);

/// The error for a process that has ended.
Error process_ended();

} // namespace gpucontainer::privilege
