// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace gpucontainer::fuzz {

/// A YAML scalar in double quotes, without any control character as it is.
inline std::string quoted(std::string_view text)
{
    constexpr unsigned char last_control = 0x1f;
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string_view rest = text.substr(i);
        if (rest.substr(0, 2) >= "\u0080" && rest.substr(0, 2) <= "\u009f") {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
            continue;
        }
        if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
            out += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
            i += 2;
            continue;
        }
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += '\\';
        if (byte <= last_control || c == '\x7f')
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    return out + '"';
}

} // namespace gpucontainer::fuzz
