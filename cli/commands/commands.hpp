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

/// All commands, in the order in which --help lists them. Options are built by need: those of
/// all commands take longer than most calls.
std::span<const CommandEntry* const> commands();

/// Null where no command is called so.
const CommandEntry* find_command(const std::string& name);

/// The command of a call that names none.
const CommandEntry& default_command();

/// The names of the commands that take an option, in the order of the table.
std::vector<std::string> commands_with(const std::string& option);

/// What a site can set, of the options of a command: a KeysOfCommand, in the order of the table.
std::optional<Keys> keys_of_command(std::size_t index);

} // namespace gpuctr_cli
