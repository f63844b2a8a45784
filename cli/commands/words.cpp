// SPDX-License-Identifier: MIT
#include "commands/words.hpp"

#include "commands/commands.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuctr_cli {
namespace {

bool restricts(const std::string& word)
{
    return word == "--restricted" || word.starts_with("--restricted=");
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
    words.restricted = std::any_of(words.own.begin(), words.own.end(), restricts);
    return words;
}

std::size_t first_own_word(const std::vector<std::string>& words)
{
    constexpr std::array of_every_command = {"-v", "--verbose", "-q", "--quiet", "--restricted"};
    const auto first = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
        return std::find(of_every_command.begin(), of_every_command.end(), word)
               == of_every_command.end();
    });
    return static_cast<std::size_t>(first - words.begin());
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
