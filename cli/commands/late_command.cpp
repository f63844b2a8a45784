// SPDX-License-Identifier: MIT
#include "commands/late_command.hpp"

#include "commands/commands.hpp"
#include "commands/parser.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

/// Quoted for a shell, if that is needed.
std::string quoted(const std::string& word)
{
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?`!#~") == std::string::npos;
    return plain ? word : formatted("'{}'", word);
}

std::string line_of(const std::vector<std::string>& words)
{
    std::string line = "gpuctr-setup";
    for (const std::string& word : words)
        line += " " + quoted(word);
    return line;
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name)
{
    if (const CLI::Option* const option = app.get_option_no_throw(name))
        return option;
    for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; }))
        if (const CLI::Option* const option = command->get_option_no_throw(name))
            return option;
    return nullptr;
}

/// Whether the word is single-letter flags, such as "-vq".
bool is_flags(const CLI::App& app, const std::string& word)
{
    return word.size() > 1 && word[0] == '-' && word[1] != '-'
           && std::all_of(word.begin() + 1, word.end(), [&](char letter) {
                  return app.get_option_no_throw(std::string("-") + letter) != nullptr;
              });
}

/// The words of a call, sorted by whether another command takes them.
struct Sorted {
    std::vector<std::string> taken;   ///< The command, and its options with their values.
    std::vector<std::string> foreign; ///< Options that it does not take, without values.
};

/// `words[late]` is the command. `wanted` has its options; `typed` has those of the command that
/// the words were parsed for.
Sorted sort(const std::vector<std::string>& words, std::size_t late, const CLI::App& typed,
            const CLI::App& wanted)
{
    Sorted sorted;
    sorted.taken.push_back(words[late]);
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i == late)
            continue;
        const std::size_t equals = words[i].find('=');
        const std::string name = words[i].substr(0, equals);
        const CLI::Option* const own = find_option(wanted, name);
        const CLI::Option* const option = own != nullptr ? own : find_option(typed, name);
        const bool is_taken = own != nullptr || is_flags(wanted, words[i]);
        const bool has_value = option != nullptr && option->get_items_expected_max() != 0
                               && equals == std::string::npos && i + 1 < words.size();
        if (is_taken)
            sorted.taken.push_back(words[i]);
        else if (std::find(sorted.foreign.begin(), sorted.foreign.end(), name)
                 == sorted.foreign.end())
            sorted.foreign.push_back(name);
        if (has_value && is_taken)
            sorted.taken.push_back(words[i + 1]);
        i += has_value ? 1 : 0;
    }
    return sorted;
}

bool parses(const CommandEntry& entry, const std::vector<std::string>& words, Call& call)
try {
    Parser parser(&entry, call);
    parser.parse(words);
    parser.command().check_typed(call);
    parser.command().check_complete();
    return true;
} catch (const CLI::ParseError&) {
    return false;
} catch (const Error&) {
    return false;
}

/// The first form of the command's usage, without options: "gpuctr-setup undo --rootfs DIR".
std::string form_of(const CommandEntry& entry)
{
    constexpr std::string_view more = " [OPTION]...";
    std::string_view form = entry.usage;
    form = form.substr(0, form.find('\n'));
    if (form.ends_with(more))
        form.remove_suffix(more.size());
    return formatted("gpuctr-setup {} {}", entry.name, form);
}

/// The call itself if it parses, with --rootfs DIR added if needed; else form_of().
std::string line_for(const CommandEntry& entry, std::vector<std::string> words, Call& call)
{
    if (parses(entry, words, call))
        return line_of(words);
    words.insert(words.end(), {"--rootfs", "DIR"});
    return parses(entry, words, call) ? line_of(words) : form_of(entry);
}

std::string hint_for(const CommandEntry& entry, std::size_t late, const CLI::App& typed,
                     const Words& words)
{
    Call call = {};
    const Parser parser(&entry, call);
    Sorted sorted = sort(words.own, late, typed, parser.app());
    if (entry.runs_command_line || entry.looks_at_command_line)
        call.command_line = words.command;
    else if (words.has_command)
        sorted.foreign.emplace_back("-- CMD");
    std::string line = line_for(entry, sorted.taken, call);
    if (!call.command_line.empty())
        line += " --";
    for (const std::string& word : call.command_line)
        line += " " + quoted(word);
    const std::string foreign =
        sorted.foreign.empty()
            ? ""
            : formatted("; {} does not take {}", entry.name, fmt::join(sorted.foreign, ", "));
    return "put the command first: " + line + foreign;
}

} // namespace

std::optional<Error> explain_late_command(const CLI::App& app,
                                          const std::vector<std::string>& extras,
                                          const Words& words)
{
    const auto is_late = [&](const std::string& word) {
        return find_command(word) != nullptr
               && std::find(extras.begin(), extras.end(), word) != extras.end();
    };
    const auto late = std::find_if(words.own.begin(), words.own.end(), is_late);
    if (late == words.own.end() || !words.own.at(first_own_word(words.own)).starts_with('-'))
        return std::nullopt;
    const auto place = static_cast<std::size_t>(late - words.own.begin());
    return Error(GPUCTR_E_USAGE, formatted("the command {} comes after options", *late),
                 hint_for(*find_command(*late), place, app, words), 0);
}

} // namespace gpuctr_cli
