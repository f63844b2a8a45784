// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace gpucontainer::model {

/// The enumerator whose name `text` is. `names` are those of all, in their order.
template <typename Enum, std::size_t Size>
std::optional<Enum> parse(const std::array<std::string_view, Size>& names, std::string_view text)
{
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

} // namespace gpucontainer::model
