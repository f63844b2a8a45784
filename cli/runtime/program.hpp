// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace gpuctr_cli {

/// Executes a command as execvpe() does, PATH of the given environment counting, but for
/// programs that are not below the root directory: a link of the image may lead through
/// one of the kernel (/proc/self/exe, /proc/self/fd/0) to the host's files. That is
/// ELOOP, and so it is for the program that a script names in its first line. Returns
/// only when nothing could be executed, with errno. `directory` is the working directory.
void execute_program(const std::vector<std::string>& command_line, char* const* environment,
                     const std::string& directory);

} // namespace gpuctr_cli
