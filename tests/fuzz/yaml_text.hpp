// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace gpucontainer::fuzz {

/// A YAML scalar in double quotes.
inline std::string quoted(std::string_view text)
{
    constexpr unsigned char last_control = 0x1f;
    std::string out = "\"";
    for (const char c : text) {
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
