// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace gpuctr_cli {

/// The --help of a command, whose options are those of `app`'s subcommand. If `entry` is null,
/// that of gpuctr-setup as a whole.
std::string help_page(const CommandEntry* entry, const CLI::App& app);

} // namespace gpuctr_cli
