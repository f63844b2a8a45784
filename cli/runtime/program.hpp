// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpuctr_cli {

/// Executes a command like execvpe(), with PATH from the given environment. Refuses a program that
/// is not below the root directory with ELOOP: a link of the image may lead through a magic link
/// (/proc/self/exe, /proc/self/fd/0) to the host's files. The same holds for the interpreter of a
/// script. Returns only on failure, with errno. `directory` is the working directory.
void execute_program(const std::vector<std::string>& command_line, char* const* environment,
                     const std::string& directory);

} // namespace gpuctr_cli
