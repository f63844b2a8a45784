// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"
#include "settings/settings.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// All commands, in the order of --help. Their options are built only when they are needed,
/// because to build those of all commands takes longer than most calls.
std::span<const CommandEntry* const> commands();

/// Null if there is no command of that name.
const CommandEntry* find_command(const std::string& name);

/// The command of a call that names none.
const CommandEntry& default_command();

/// The names of the commands that take an option, in the order of the table.
std::vector<std::string> commands_with(const std::string& option);

/// The options of a command that a site can set: a KeysOfCommand, in the order of the table.
std::optional<Keys> keys_of_command(std::size_t index);

} // namespace gpuctr_cli
