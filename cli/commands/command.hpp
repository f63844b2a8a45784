// SPDX-License-Identifier: MIT
#pragma once

#include "options/values.hpp"
#include "output/exit_code.hpp"
#include "output/messages.hpp"
#include "settings/origins.hpp"

#include <CLI/CLI.hpp>

#include <gpucontainer/gpucontainer.hpp>
#include <memory>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// One call of gpuctr-setup, without the options of its command.
struct Call {
    Streams streams;
    Verbosity verbosity = Verbosity::normal;
    Color color = Color::automatic;
    std::string config;                    ///< The typed --config; or "".
    bool json = false;                     ///< Errors are printed in JSON.
    std::vector<std::string> command_line; ///< The words after "--"; may be empty.
    bool runs_command = false;             ///< They are run, and not only looked at.
    Origins origins;                       ///< Of the options that a site set.
    mutable std::vector<Message> held;     ///< With `json`: what was said.

    Messages messages() const { return {streams, verbosity, json ? &held : nullptr}; }
    void use_color()
    {
        streams.of_out = Paint(color, streams.out);
        streams.of_err = Paint(color, streams.err);
    }
};

/// The options of a command, and what it does with them.
class Command {
public:
    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    /// `app` parses into this object.
    virtual void add_options(CLI::App& app) = 0;
    /// The form of what it prints, and of errors.
    Format format() const noexcept { return format_; }
    /// Called after parsing, before a site's settings are added. Throws gpucontainer::Error if
    /// typed options do not go together: usage.
    virtual void check_typed(const Call&) {}
    /// Called if the site's settings cannot be added. Whether run() is called all the same, which
    /// then does nothing that they could be about.
    virtual bool goes_on_without_settings(const gpucontainer::Error&) { return false; }
    /// Called after the site's settings are added. Throws if something is missing: usage.
    virtual void check_complete() const {}
    /// Returns the exit code. Throws gpucontainer::Error.
    virtual int run(const Call& call) = 0;

protected:
    void add_format_to(CLI::App& app, OtherFormats* others = nullptr)
    {
        add_format_option(app, format_, others);
    }

private:
    Format format_ = Format::text;
};

/// A row of the table of commands.
struct CommandEntry {
    const char* name;    ///< "cdi-generate" is typed as two words.
    const char* summary; ///< One line.
    const char* usage;   ///< What follows the name: one line for each form, the usual one first.
    const char* about;   ///< For its --help: what it does, and examples.
    std::unique_ptr<Command> (*make)();
    bool runs_command_line = false; ///< Whether it takes "-- CMD".
    /// Whether its environment may be anybody's: nothing of it counts then.
    bool distrusts_environment = false;
    /// Whether it takes "-- CMD" without running it.
    bool looks_at_command_line = false;
};

/// Each is defined in the file of its name.
extern const CommandEntry apply_command;
extern const CommandEntry plan_command;
extern const CommandEntry list_command;
extern const CommandEntry check_command;
extern const CommandEntry prepare_command;
extern const CommandEntry hook_command;
extern const CommandEntry cdi_command;
extern const CommandEntry cdi_generate_command;
extern const CommandEntry cdi_apply_command;
extern const CommandEntry cdi_list_command; ///< In cdi_list.cpp, with cdi_validate_command.
extern const CommandEntry cdi_validate_command;
extern const CommandEntry undo_command;
extern const CommandEntry status_command;
extern const CommandEntry why_command;
extern const CommandEntry report_command;
extern const CommandEntry version_command;

} // namespace gpuctr_cli
