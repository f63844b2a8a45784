// SPDX-License-Identifier: MIT
#include "commands/mistakes.hpp"

#include "commands/commands.hpp"
#include "commands/late_command.hpp"
#include "output/failure.hpp"
#include "output/format.hpp"
#include "settings/similar.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;
using Names = std::vector<std::string>;

const CLI::App* command_of(const CLI::App& app)
{
    const auto commands = app.get_subcommands();
    return commands.empty() ? nullptr : commands.front();
}

/// "--rootfs" of "--rootfs=/srv".
std::string option_in(const std::string& word) { return word.substr(0, word.find('=')); }

std::string without_dashes(const std::string& option)
{
    const std::size_t begin = option.find_first_not_of('-');
    return begin == std::string::npos ? "" : option.substr(begin);
}

/// "rootfs" of "--rootfs: DIR is missing"; "" if there is none.
std::string option_at_the_front_of(const std::string& problem)
{
    const bool has_option = problem.starts_with("--");
    return has_option ? without_dashes(problem.substr(0, problem.find_first_of(": "))) : "";
}

/// The options that a command takes: its own, and those of every command.
std::vector<const CLI::Option*> options_of(const CLI::App& app)
{
    auto options = app.get_options();
    if (const CLI::App* const command = command_of(app); command != nullptr)
        for (const CLI::Option* option : command->get_options())
            options.push_back(option);
    return options;
}

Names names_of(const std::vector<const CLI::Option*>& options)
{
    Names names;
    for (const CLI::Option* option : options)
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

Names names_of_commands()
{
    Names names;
    for (const CommandEntry* const entry : commands())
        if (std::string_view(entry->name).find('-') == std::string_view::npos)
            names.emplace_back(entry->name);
    return names;
}

/// The hint for an option that the command does not have.
std::string hint_for(const CLI::App& app, const std::string& command, const std::string& option)
{
    if (const std::string name = meant(option, names_of(options_of(app))); !name.empty())
        return formatted("did you mean {}? {} lists all", name, help_of(command));
    const Names others = commands_with(option);
    if (!others.empty())
        return formatted("{} take{} it; {} lists what {} takes", fmt::join(others, ", "),
                         others.size() == 1 ? "s" : "", help_of(command), command);
    return help_of(command);
}

/// Explains the first word that the parser had no use for.
Error explain_extra(const CLI::App& app, const Names& extras, const Words& words)
{
    if (auto late = explain_late_command(app, extras, words))
        return *std::move(late);
    const std::string& extra = extras.front();
    const CLI::App* const chosen = command_of(app);
    const std::string command = chosen == nullptr ? "" : chosen->get_name();
    if (extra.size() > 1 && extra.front() == '-') {
        const std::string option = option_in(extra);
        return {GPUCTR_E_USAGE,
                formatted("{}: unknown option {}", words_of(command), option),
                hint_for(app, command, option),
                0,
                {},
                without_dashes(option)};
    }
    if (words.own.at(first_own_word(words.own)) != extra)
        return {GPUCTR_E_USAGE, formatted("{}: unexpected word '{}'", words_of(command), extra),
                command == default_command().name ? "a command to run in DIR comes after --"
                                                  : help_of(command),
                0};
    const Names known = names_of_commands();
    const std::string name = meant(extra, known);
    return {GPUCTR_E_USAGE, formatted("unknown command '{}'", extra),
            name.empty() ? formatted("commands are {}; gpuctr-setup --help", fmt::join(known, ", "))
                         : formatted("did you mean {}?", name),
            0};
}

/// Names two typed options that exclude each other; empty if there are none.
std::string exclusive_pair(const std::vector<const CLI::Option*>& options)
{
    for (const CLI::Option* option : options) {
        if (option->count() == 0)
            continue;
        for (const CLI::Option* other : option->get_excludes())
            if (other->count() != 0)
                return formatted("{} and {} do not go together", option->get_name(),
                                 other->get_name());
    }
    return "";
}

std::string explain_count(const CLI::App& app, const std::string& last)
{
    for (const CLI::Option* option : options_of(app))
        if (option->get_items_expected_max() == 1 && option->count() > 1)
            return formatted("{} is given more than once", option->get_name());
    for (const CLI::Option* option : options_of(app))
        if (option->check_name(last))
            return formatted("{}: {} is missing", last, option->get_type_name());
    return "--restricted takes no value";
}

std::string explain_other(const CLI::App& app, const CLI::ParseError& error, const Words& words)
{
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
        return "name a command, or a vendor and a root file system to set up";
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        return explain_count(app, words.own.back());
    const bool excluded = dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr;
    const std::string pair = excluded ? exclusive_pair(options_of(app)) : "";
    return pair.empty() ? error.what() : pair;
}

} // namespace

Error explain(const CLI::App& app, const CLI::ParseError& error, const Words& words)
{
    const auto extras = app.remaining(true);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
        return explain_extra(app, extras, words);
    const CLI::App* const command = command_of(app);
    const std::string help = help_of(command == nullptr ? "" : command->get_name());
    const auto [problem, suggestion] = split_suggestion(explain_other(app, error, words));
    return {GPUCTR_E_USAGE,
            problem,
            suggestion.empty() ? help : formatted("{} {} lists all", suggestion, help),
            0,
            {},
            option_at_the_front_of(problem)};
}

} // namespace gpuctr_cli
