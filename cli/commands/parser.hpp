// SPDX-License-Identifier: MIT
#pragma once

#include "commands/command.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// Parses a call: the options of every command, and those of the command that is called.
class Parser {
public:
    /// `entry` is null if no command is called; then only --help and --version parse. `call`
    /// must outlive this object.
    Parser(const CommandEntry* entry, Call& call);

    /// `words` are options of every command, then the command, then its options. Throws
    /// CLI::ParseError; gpucontainer::Error: usage.
    void parse(std::vector<std::string> words);

    const CLI::App& app() const noexcept { return app_; }
    /// The options of the command. Only if one is called.
    CLI::App& options() noexcept { return *options_; }
    /// Only if one is called.
    Command& command() noexcept { return *command_; }

private:
    void check_words(const std::vector<std::string>& words) const;

    CLI::App app_;
    std::unique_ptr<Command> command_;
    CLI::App* options_ = nullptr;
};

} // namespace gpuctr_cli
