// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpucontainer::simhost {

inline constexpr int exit_own_failure = 125;
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

/// Prints a line on standard error. Whether anybody can hear it changes nothing.
void say(std::string what);

/// Prints what the command does not see of the host.
void say_left_out(const std::vector<std::string>& left_out);

/// Says why a program could not be executed, by errno. Returns the exit status for that.
int say_not_executed(const char* program);

} // namespace gpucontainer::simhost
