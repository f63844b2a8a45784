// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// Whether `typed` may be a misspelt `word`: up to two letters are wrong, missing, extra or
/// swapped, fewer in a short word. Upper case counts as lower case, and `_` or a space as `-`.
bool may_be_meant(std::string_view typed, std::string_view word);

/// The word that is most similar and may be meant; "" if there is none.
std::string meant(std::string_view typed, const std::vector<std::string>& words);
/// The same for words in capital letters.
std::string meant_in_capitals(std::string_view typed, const std::vector<std::string>& words);

/// The problem with an option's value for the parser, with the question whether `word` is meant
/// on a further line, unless that is "".
std::string with_suggestion(const std::string& problem, const std::string& word);
/// The problem, and the question or "".
std::pair<std::string, std::string> split_suggestion(const std::string& message);

} // namespace gpuctr_cli
