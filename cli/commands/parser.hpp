// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// What parses a call: the options of every command, and those of the one that is called.
class Parser {
public:
    /// `entry` is null for a call of no command, which parses where it asks for words alone.
    /// `call` has to live as long.
    Parser(const CommandEntry* entry, Call& call);

    /// `words` begin with the command, behind options of every command. Throws CLI::ParseError;
    /// gpucontainer::Error: usage.
    void parse(std::vector<std::string> words);

    const CLI::App& app() const noexcept { return app_; }
    /// With those of a command alone. Only where one is called.
    CLI::App& options() noexcept { return *options_; }
    Command& command() noexcept { return *command_; }

private:
    void check_words(const std::vector<std::string>& words) const;

    CLI::App app_;
    std::unique_ptr<Command> command_;
    CLI::App* options_ = nullptr;
};

} // namespace gpuctr_cli
