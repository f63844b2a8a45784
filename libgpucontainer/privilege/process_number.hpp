// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "syscall/process.hpp"

#include <string>

namespace gpucontainer::privilege {

/// The number that a /proc has for the process behind a pidfd. What is read by it belongs to
/// that process if has_ended() is false afterwards. Errors: rootfs when it has ended, or is not
/// to be seen there; usage for what is no pidfd; requirement.
Result<std::string> number_of(int proc, int pidfd);

using syscall::has_ended;

/// A file below /proc/PID. Errors: rootfs when the process has ended; permission; requirement.
Result<std::string> read_of_process(int proc, const std::string& path);

/// For what is looked at below /proc/PID and cannot be.
Error cannot_look_at(int os_error, const std::string& path);

/// What there is to say of a process that is not there any more.
Error process_ended();

} // namespace gpucontainer::privilege
