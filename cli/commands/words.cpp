// SPDX-License-Identifier: MIT
#include "commands/words.hpp"

#include "commands/commands.hpp"
#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuctr_cli {
namespace {

bool restricts(const std::string& word)
{
    return word == "--restricted" || word.starts_with("--restricted=");
}

bool asks_for_json(const std::vector<std::string>& words)
{
    const auto asks = [&](const std::string& word) {
        const std::string* const next =
            &word + 1 == words.data() + words.size() ? &word : &word + 1;
        return word == "--json" || word == "--format=json"
               || (word == "--format" && *next == "json");
    };
    return std::any_of(words.begin(), words.end(), asks);
}

/// An option of every command that has a value.
bool has_value(const std::string& option) { return option == "--color" || option == "--config"; }

Color color_in(const std::vector<std::string>& words)
{
    Color color = Color::automatic;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string word = words[i];
        if (word == "--color" && i + 1 < words.size())
            word += "=" + words[i + 1];
        if (word == "--color=always")
            color = Color::always;
        else if (word == "--color=never")
            color = Color::never;
    }
    return color;
}

/// Answered instead of any work, with or without a command.
bool asks_for_words(const std::string& word)
{
    return word == "-h" || word == "--help" || word == "--version";
}

} // namespace

Words split(int argc, char** argv)
{
    Words words;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (words.has_command)
            words.command.push_back(word);
        else if (word == "--")
            words.has_command = true;
        else
            words.own.push_back(word);
    }
    words.json = asks_for_json(words.own);
    words.color = color_in(words.own);
    words.restricted = std::any_of(words.own.begin(), words.own.end(), restricts);
    return words;
}

std::size_t first_own_word(const std::vector<std::string>& words)
{
    constexpr std::array flags = {"-v", "--verbose", "-q", "--quiet", "--restricted"};
    std::size_t i = 0;
    for (; i < words.size(); ++i) {
        const bool is_flag = std::find(flags.begin(), flags.end(), words[i]) != flags.end();
        if (has_value(words[i]) && i + 1 < words.size())
            ++i;
        else if (!is_flag && !has_value(words[i].substr(0, words[i].find('='))))
            break;
    }
    return i;
}

void join_command(std::vector<std::string>& words)
{
    const std::size_t first = first_own_word(words);
    if (first + 1 >= words.size())
        return;
    const std::string name = formatted("{}-{}", words[first], words[first + 1]);
    if (find_command(words[first]) == nullptr || find_command(name) == nullptr)
        return;
    words[first] = name;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(first) + 1);
}

void add_default_command(std::vector<std::string>& words)
{
    const std::size_t first = first_own_word(words);
    if (first != words.size() && find_command(words[first]) == nullptr
        && !asks_for_words(words[first]))
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(first), default_command().name);
}

const CommandEntry* called_command(const std::vector<std::string>& words)
{
    for (std::size_t i = first_own_word(words); i < words.size(); ++i)
        if (const CommandEntry* const entry = find_command(words[i]))
            return entry;
    return nullptr;
}

} // namespace gpuctr_cli
