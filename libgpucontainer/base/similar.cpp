// SPDX-License-Identifier: MIT
#include "base/similar.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace gpucontainer::base {

/// Skips the common beginning, which has no typing errors.
bool is_like(std::string_view left, std::string_view right, int slips)
{
    const auto same = std::ranges::mismatch(left, right).in1 - left.begin();
    left.remove_prefix(static_cast<std::size_t>(same));
    right.remove_prefix(static_cast<std::size_t>(same));
    if (left.empty() || right.empty())
        return left.size() + right.size() <= static_cast<std::size_t>(slips);
    if (slips == 0)
        return false;
    const bool is_swapped =
        left.size() > 1 && right.size() > 1 && left[0] == right[1] && left[1] == right[0];
    return is_like(left.substr(1), right, slips - 1) || is_like(left, right.substr(1), slips - 1)
           || is_like(left.substr(1), right.substr(1), slips - 1)
           || (is_swapped && is_like(left.substr(2), right.substr(2), slips - 1));
}

std::string suggestion(std::string_view typed, const std::vector<std::string_view>& words)
{
    constexpr std::size_t most_slips = 2;
    constexpr std::size_t letters_for_a_slip = 3;
    const std::string word = to_lower(typed);
    for (int slips = 0; slips <= static_cast<int>(most_slips); ++slips)
        for (const std::string_view known : words)
            if (static_cast<std::size_t>(slips) <= known.size() / letters_for_a_slip
                && is_like(word, known, slips))
                return format("did you mean {}? ", known);
    return "";
}

} // namespace gpucontainer::base
