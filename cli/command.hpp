// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
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

enum class Format : int { text, json };

inline const std::map<std::string, Format>& format_names()
{
    static const std::map<std::string, Format> names = {{"text", Format::text},
                                                        {"json", Format::json}};
    return names;
}

void add_list_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_plan_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_prepare_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_undo_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
void add_status_command(CLI::App& app, Command& chosen, const Verbosity& verbosity);
/// `command_line` is what stood behind "--", empty when nothing did.
void add_apply_command(CLI::App& app, Command& chosen, const Verbosity& verbosity,
                       const std::vector<std::string>& command_line);

} // namespace gpuctr_setup
