// SPDX-License-Identifier: MIT
#pragma once

#include "options/values.hpp"
#include "output/exit_code.hpp"
#include "output/messages.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace gpuctr_setup {

/// What the command line asked for, ready to run; returns the exit code.
using Command = std::function<int(const Streams&)>;

class Origins;

enum class Format : int { text, json };

inline void add_format_option(CLI::App& command, Format& format)
{
    add_choice<Format>(command, "--format", {{"text", Format::text}, {"json", Format::json}},
                       format, "how the result is printed");
}

void add_list_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_plan_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_prepare_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_undo_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_status_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
/// `command_line` is what stood behind "--", empty when nothing did; `origins` are those of the
/// options that a site set, once the command runs.
void add_apply_command(CLI::App& app, Command& chosen, const Verbosity& verbosity,
                       const std::vector<std::string>& command_line, const Origins& origins);

} // namespace gpuctr_setup
