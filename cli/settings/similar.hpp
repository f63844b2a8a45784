// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuctr_cli {

/// Whether one word may be a slip of the pen for the other: up to two letters are wrong,
/// missing, too many or in the other order, fewer in a short word. Upper case, and `_` or a
/// space for `-`, are none.
bool may_be_meant(std::string_view typed, std::string_view word);

/// That of the words which is most like it and may be meant; "" when none may.
std::string meant(std::string_view typed, const std::vector<std::string>& words);

} // namespace gpuctr_cli
