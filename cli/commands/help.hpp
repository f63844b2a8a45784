// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace gpuctr_cli {

/// --help of the command whose options are those of `app`'s subcommand; of all commands where
/// `entry` is null.
std::string help_page(const CommandEntry* entry, const CLI::App& app);

} // namespace gpuctr_cli
