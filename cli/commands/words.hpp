// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// The words of a call: those before "--", and those behind it.
struct Words {
    std::vector<std::string> own;
    std::vector<std::string> command;
    bool has_command = false;
    /// By a word alone: for the parser it may be the value of an option before it.
    bool restricted = false;
};
Words split(int argc, char** argv);

/// The place of the first word that is not an option of every command.
std::size_t first_own_word(const std::vector<std::string>& words);

/// Puts the default command in front of the options that belong to it, where no other is named.
void add_default_command(std::vector<std::string>& words);

/// The command that is called, with the default one in its place; null for a call of none, such
/// as --version.
const CommandEntry* called_command(const std::vector<std::string>& words);

} // namespace gpuctr_cli
