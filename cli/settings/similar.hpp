// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuctr_cli {

/// Whether `typed` may be a misspelt `word`: up to two letters are wrong, missing, extra or
/// swapped, fewer in a short word. Upper case counts as lower case, and `_` or a space as `-`.
bool may_be_meant(std::string_view typed, std::string_view word);

/// The word that is most similar and may be meant; "" if there is none.
std::string meant(std::string_view typed, const std::vector<std::string>& words);

} // namespace gpuctr_cli
