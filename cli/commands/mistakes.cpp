// SPDX-License-Identifier: MIT
#include "commands/mistakes.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "settings/similar.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string_view>

namespace gpuctr_setup {
namespace {

using gpucontainer::Error;
using Words = std::vector<std::string>;

const CLI::App* command_of(const CLI::App& app)
{
    const auto commands = app.get_subcommands();
    return commands.empty() ? nullptr : commands.front();
}

/// "--rootfs" of "--rootfs=/srv".
std::string option_in(const std::string& word) { return word.substr(0, word.find('=')); }

/// The options that a command takes: its own, and those of every command.
std::vector<const CLI::Option*> options_of(const CLI::App& app)
{
    auto options = app.get_options();
    if (const CLI::App* const command = command_of(app); command != nullptr)
        for (const CLI::Option* option : command->get_options())
            options.push_back(option);
    return options;
}

Words names_of(const std::vector<const CLI::Option*>& options)
{
    Words names;
    for (const CLI::Option* option : options)
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    return names;
}

Words names_of(const std::vector<const CLI::App*>& commands)
{
    Words names;
    for (const CLI::App* command : commands)
        names.push_back(command->get_name());
    return names;
}

std::vector<const CLI::App*> all_commands(const CLI::App& app)
{
    return app.get_subcommands([](const CLI::App*) { return true; });
}

/// What helps with an option that the command does not have.
std::string hint_for(const CLI::App& app, const std::string& command, const std::string& option)
{
    if (const std::string name = meant(option, names_of(options_of(app))); !name.empty())
        return formatted("did you mean {}? {} lists all", name, help_of(command));
    Words others;
    for (const CLI::App* other : all_commands(app))
        if (other->get_option_no_throw(option) != nullptr)
            others.push_back(other->get_name());
    if (!others.empty())
        return formatted("{} take{} it; {} lists what {} takes", fmt::join(others, ", "),
                         others.size() == 1 ? "s" : "", help_of(command), command);
    return help_of(command);
}

/// As a shell takes it.
std::string quoted(const std::string& word)
{
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?`!#~") == std::string::npos;
    return plain ? word : formatted("'{}'", word);
}

/// The name of a command that has no place where it stands, behind options: for the parser these
/// are of apply. None where there is none.
std::optional<Error> explain_late_command(const CLI::App& app, const Words& extras,
                                          const Words& words)
{
    const Words commands = names_of(all_commands(app));
    const auto is_late = [&](const std::string& word) {
        return std::find(commands.begin(), commands.end(), word) != commands.end()
               && std::find(extras.begin(), extras.end(), word) != extras.end();
    };
    const auto late = std::find_if(words.begin(), words.end(), is_late);
    if (late == words.end() || !words.at(first_own_word(words)).starts_with('-'))
        return std::nullopt;
    std::string call = "gpuctr-setup " + *late;
    for (auto word = words.begin(); word != words.end(); ++word)
        if (word != late)
            call += " " + quoted(*word);
    return Error(GPUCTR_E_USAGE, formatted("the command {} stands behind options", *late),
                 formatted("put the command first: {}", call), 0);
}

/// The first word that has no place.
Error explain_extra(const CLI::App& app, const Words& extras, const Words& words)
{
    if (auto late = explain_late_command(app, extras, words))
        return *std::move(late);
    const std::string& extra = extras.front();
    const CLI::App* const chosen = command_of(app);
    const std::string command = chosen == nullptr ? "" : chosen->get_name();
    if (extra.size() > 1 && extra.front() == '-') {
        const std::string option = option_in(extra);
        return {GPUCTR_E_USAGE, formatted("{}: unknown option {}", command, option),
                hint_for(app, command, option), 0};
    }
    if (words.at(first_own_word(words)) != extra)
        return {GPUCTR_E_USAGE, formatted("{}: unexpected word '{}'", command, extra),
                command == "apply" ? "a command to run in DIR stands behind --" : help_of(command),
                0};
    const Words commands = names_of(all_commands(app));
    const std::string name = meant(extra, commands);
    return {GPUCTR_E_USAGE, formatted("unknown command '{}'", extra),
            name.empty()
                ? formatted("commands are {}; gpuctr-setup --help", fmt::join(commands, ", "))
                : formatted("did you mean {}?", name),
            0};
}

/// Two options of which one was typed too many; empty where there are none.
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

std::string explain_count(const CLI::App& app, const Words& words)
{
    for (const CLI::Option* option : options_of(app))
        if (option->get_items_expected_max() == 1 && option->count() > 1)
            return formatted("{} is given more than once", option->get_name());
    for (const CLI::Option* option : options_of(app))
        if (option->check_name(words.back()))
            return formatted("{}: {} is missing", words.back(), option->get_type_name());
    return "--restricted takes no value";
}

std::string explain_other(const CLI::App& app, const CLI::ParseError& error, const Words& words)
{
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
        return "name a command, or a vendor and a root file system to set up";
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
        return explain_count(app, words);
    const bool excluded = dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr;
    const std::string pair = excluded ? exclusive_pair(options_of(app)) : "";
    return pair.empty() ? error.what() : pair;
}

} // namespace

std::size_t first_own_word(const Words& words)
{
    constexpr std::array of_every_command = {"-v", "--verbose", "-q", "--quiet", "--restricted"};
    const auto first = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
        return std::find(of_every_command.begin(), of_every_command.end(), word)
               == of_every_command.end();
    });
    return static_cast<std::size_t>(first - words.begin());
}

void check_words(const CLI::App& app, const Words& words)
{
    const std::size_t first = first_own_word(words);
    const auto commands = all_commands(app);
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* other) {
        return first < words.size() && other->get_name() == words[first];
    });
    const CLI::App* const command = found != commands.end() ? *found : nullptr;
    for (const std::string& word : words) {
        if (!word.starts_with("--") || word.find('=') != word.size() - 1)
            continue;
        const std::string name = option_in(word);
        const CLI::Option* const option =
            command != nullptr ? command->get_option_no_throw(name) : nullptr;
        const std::string type = option != nullptr ? option->get_type_name() : "";
        throw usage_error_of(command != nullptr ? command->get_name() : "",
                             formatted("{}: {} is missing", name, type.empty() ? "a value" : type));
    }
}

Error explain(const CLI::App& app, const CLI::ParseError& error, const Words& words)
{
    const auto extras = app.remaining(true);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty())
        return explain_extra(app, extras, words);
    const CLI::App* const command = command_of(app);
    return usage_error_of(command == nullptr ? "" : command->get_name(),
                          explain_other(app, error, words));
}

} // namespace gpuctr_setup
