// SPDX-License-Identifier: MIT
#include "base/json_text.hpp"

#include <algorithm>

namespace gpucontainer::base {

std::size_t json_depth(std::string_view text)
{
    std::size_t deepest = 0;
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\' ? 1 : 0;
        else if (c == '[' || c == '{')
            deepest = std::max(deepest, ++depth);
        else if ((c == ']' || c == '}') && depth > 0)
            --depth;
    }
    return deepest;
}

std::string json_fault(std::string_view what)
{
    constexpr std::size_t longest = 200;
    what.remove_prefix(what.find(' ') + 1);
    std::string text(what.substr(0, longest));
    return what.size() > longest ? text + "..." : text;
}

} // namespace gpucontainer::base
