// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// The words of a call.
struct Words {
    std::vector<std::string> own;     ///< Before "--".
    std::vector<std::string> command; ///< After "--".
    bool has_command = false;
    /// Whether any word is --restricted, even if the parser takes it for the value of an option.
    bool restricted = false;
    bool json = false; ///< The form of errors, until options are parsed.
    Color color = Color::automatic;
};
Words split(int argc, char** argv);

/// The place of the first word that is not an option of every command.
std::size_t first_own_word(const std::vector<std::string>& words);

/// Joins the two words that name a command of a group: "cdi" and "generate".
void join_command(std::vector<std::string>& words);

/// Inserts the default command before its options, if no command is named.
void add_default_command(std::vector<std::string>& words);

/// The command that is called, after add_default_command(); null if there is none, as with
/// --version.
const CommandEntry* called_command(const std::vector<std::string>& words);

} // namespace gpuctr_cli
