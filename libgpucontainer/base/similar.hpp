// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::base {

/// Whether two words differ by at most that many typing errors: a letter that is wrong, missing,
/// extra, or swapped with the next.
bool is_like(std::string_view left, std::string_view right, int slips);

/// "did you mean WORD? " if a word of the list is typed with at most two errors, fewer in a short
/// one; else "". For the beginning of a hint.
std::string suggestion(std::string_view typed, const std::vector<std::string_view>& words);

} // namespace gpucontainer::base
