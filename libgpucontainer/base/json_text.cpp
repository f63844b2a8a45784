// SPDX-License-Identifier: MIT
#include "base/json_text.hpp"

#include "base/format.hpp"

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
    // It quotes the document. A terminal or a log would obey some of these.
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return what.size() > longest ? text + "..." : text;
}

std::string without_control_characters(const std::string& document)
{
    std::string safe;
    safe.reserve(document.size());
    for (std::size_t i = 0; i < document.size(); ++i) {
        const auto byte = static_cast<unsigned char>(document[i]);
        const auto next = static_cast<unsigned char>(i + 1 < document.size() ? document[i + 1] : 0);
        const bool two_bytes = byte == 0xc2 && next >= 0x80 && next < 0xa0; // U+0080 to U+009F
        if (byte == 0x7f || two_bytes)
            safe += format("\\u{:04x}", two_bytes ? next : byte);
        else
            safe += document[i];
        i += two_bytes ? 1 : 0;
    }
    return safe;
}

} // namespace gpucontainer::base
