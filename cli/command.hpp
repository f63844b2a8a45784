// SPDX-License-Identifier: MIT
#pragma once

#include "values.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <string>

namespace gpuctr_setup {

/// Exit codes of the command; those of errors are the library's classes.
enum ExitCode : int {
    done = 0,
    internal_error = 1,
    usage_error = 2,
    something_wrong = 9,  ///< What was looked at is not as it should be.
    set_up_failed = 125,  ///< With a command to run: any of the above.
    not_executable = 126, ///< The command cannot be executed.
    not_found = 127,      ///< The command is not there.
};

/// Results go to `out`, everything said to a person to `err`.
struct Streams {
    std::FILE* out;
    std::FILE* err;
};

enum class Verbosity : int { quiet, normal, verbose };

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
