// SPDX-License-Identifier: MIT
#pragma once

#include "import/variables.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// Reads a shell script that sets variables, after others that set `variables`. Nothing is
/// executed: assignments are obeyed that take effect whatever a command does. A variable that
/// another part of the script may set is removed, because its value is not known. Variables that
/// the script does not set have no value here. Returns the lines that are not understood, such as
/// "2, 5-7 and what follows"; "" if all are.
std::string read_script(std::string_view text, Variables& variables);

/// Reads lines "NAME=VALUE". Single quotes around a value are left out. Empty lines and those that
/// begin with "#" mean nothing; a value with "$" is not known, because some programs replace that.
/// Returns the lines that are not understood, as read_script() does.
std::string read_lines(std::string_view text, Variables& variables);

} // namespace gpucontainer::imports
