// SPDX-License-Identifier: MIT
#pragma once

#include "output/exit_code.hpp"
#include "output/messages.hpp"
#include "settings/origins.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// One call of gpuctr-setup, besides the options of its command.
struct Call {
    Streams streams;
    Verbosity verbosity = Verbosity::normal;
    std::vector<std::string> command_line; ///< What stood behind "--", empty when nothing did.
    Origins origins;                       ///< Of the options that a site set.

    Messages messages() const noexcept { return {streams.err, verbosity}; }
};

/// The options of a command, and what it does with them.
class Command {
public:
    Command() = default;
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;
    virtual ~Command() = default;

    /// `app` parses into this object, and has no use for its options afterwards.
    virtual void add_options(CLI::App& app) = 0;
    /// To be called after parsing, before a site's settings come to what was typed. Throws
    /// gpucontainer::Error for what does not go together: usage.
    virtual void check_typed(const Call&) {}
    /// To be called when the site's settings are there. Throws for what is missing: usage.
    virtual void check_complete() const {}
    /// Returns the exit code. Throws gpucontainer::Error.
    virtual int run(const Call& call) = 0;
};

/// What there is to know of a command without having it.
struct CommandEntry {
    const char* name;
    const char* summary; ///< Of one line.
    const char* usage; ///< What stands behind the name, a line for each form, the usual one first.
    const char* about; ///< For its --help: what it does, and examples.
    std::unique_ptr<Command> (*make)();
    bool runs_command_line = false; ///< Whether "-- CMD" goes with it.
};

/// Each is defined in the file of its name.
extern const CommandEntry apply_command;
extern const CommandEntry plan_command;
extern const CommandEntry list_command;
extern const CommandEntry prepare_command;
extern const CommandEntry undo_command;
extern const CommandEntry status_command;
extern const CommandEntry version_command;

} // namespace gpuctr_cli
