// SPDX-License-Identifier: MIT
#include "settings/similar.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace gpuctr_cli {
namespace {

/// Number of typing errors between two words (optimal string alignment distance).
std::size_t distance(std::string_view left, std::string_view right)
{
    std::vector<std::vector<std::size_t>> rows(left.size() + 1,
                                               std::vector<std::size_t>(right.size() + 1));
    for (std::size_t i = 0; i <= left.size(); ++i)
        for (std::size_t j = 0; j <= right.size(); ++j) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            const std::size_t differs = left[i - 1] == right[j - 1] ? 0 : 1;
            rows[i][j] =
                std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + differs});
            if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
                rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
        }
    return rows[left.size()][right.size()];
}

/// Longer than any word of ours; bounds the work for what is typed.
constexpr std::size_t longest = 32;

std::string folded(std::string_view typed)
{
    std::string text(typed);
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
        return c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(c));
    });
    return text;
}

std::size_t allowed(std::string_view word) { return std::min<std::size_t>(2, word.size() / 3); }

} // namespace

bool may_be_meant(std::string_view typed, std::string_view word)
{
    return typed.size() <= longest && distance(folded(typed), word) <= allowed(word);
}

std::string meant(std::string_view typed, const std::vector<std::string>& words)
{
    std::string found;
    std::size_t least = longest;
    for (const std::string& word : words) {
        if (!may_be_meant(typed, word))
            continue;
        const std::size_t slips = distance(folded(typed), word);
        if (slips < least) {
            least = slips;
            found = word;
        }
    }
    return found;
}

std::string meant_in_capitals(std::string_view typed, const std::vector<std::string>& words)
{
    std::vector<std::string> folded_words;
    folded_words.reserve(words.size());
    for (const std::string& word : words)
        folded_words.push_back(folded(word));
    const std::string found = meant(typed, folded_words);
    for (const std::string& word : words)
        if (!found.empty() && folded(word) == found)
            return word;
    return "";
}

std::string with_suggestion(const std::string& problem, const std::string& word)
{
    return word.empty() ? problem : problem + "\ndid you mean " + word + "?";
}

std::pair<std::string, std::string> split_suggestion(const std::string& message)
{
    const std::size_t end = message.find("\ndid you mean ");
    if (end == std::string::npos)
        return {message, ""};
    return {message.substr(0, end), message.substr(end + 1)};
}

} // namespace gpuctr_cli
