// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::base {

/// Without white space at either end.
std::string_view trim(std::string_view text);

/// The parts between separators, empty ones included.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The parts of a temporary would outlive it.
template <std::same_as<std::string> Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;

/// All parts, with the separator between them.
std::string joined(const auto& texts, std::string_view separator)
{
    std::string all;
    std::string_view before;
    for (std::string_view text : texts) {
        all.append(before).append(text);
        before = separator;
    }
    return all;
}

/// An unsigned number in base 10 or 16; nothing if the text has anything else.
std::optional<std::uint64_t> to_number(std::string_view text, int base = 10);

/// ASCII lower case, independent of the locale.
std::string to_lower(std::string_view text);

/// Whether it is an ASCII control character, which a terminal would obey.
bool is_control(char c);

/// Whether the text is well-formed UTF-8, as JSON requires.
bool is_utf8(std::string_view text);

/// `path` without its last component; "/" and "" for the first one.
std::string_view directory_of(std::string_view path);
std::string_view name_of(std::string_view path);

/// Whether `path` is `directory` or below it, compared by component:
/// "/scratch2" is not below "/scratch".
bool is_below(std::string_view path, std::string_view directory);

} // namespace gpucontainer::base
