// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gpucontainer::fuzz {

/// What a text begins with, as it is written in double quotes, and how long it is.
struct Quoted {
    std::string text;
    std::size_t length;
};

inline Quoted first_quoted(std::string_view text)
{
    constexpr unsigned char last_control = 0x1f;
    const std::string_view two = text.substr(0, 2);
    if (two >= "\u0080" && two <= "\u009f")
        return {base::format("\\x{:02x}", static_cast<unsigned char>(two[1])), two.size()};
    for (const std::string_view separator : {"\u2028", "\u2029"})
        if (text.starts_with(separator))
            return {separator == "\u2028" ? "\\u2028" : "\\u2029", separator.size()};
    const char c = text.front();
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= last_control || c == '\x7f')
        return {base::format("\\x{:02x}", byte), 1};
    return {c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c), 1};
}

/// A YAML scalar in double quotes, without any control character as it is.
inline std::string in_quotes(std::string_view text)
{
    std::string out = "\"";
    while (!text.empty()) {
        const Quoted first = first_quoted(text);
        out += first.text;
        text.remove_prefix(first.length);
    }
    return out + '"';
}

} // namespace gpucontainer::fuzz
