// SPDX-License-Identifier: MIT
#include "output/characters.hpp"

#include <algorithm>
#include <bit>

namespace gpuctr_cli {
namespace {

/// Whether the first two bytes begin no character, or one that has a shorter form, is half of a
/// pair of UTF-16, or lies behind the last one (RFC 3629).
bool is_no_beginning(unsigned char first, unsigned char second)
{
    return first < 0xc2 || first > 0xf4 || (first == 0xe0 && second < 0xa0)
           || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90)
           || (first == 0xf4 && second > 0x8f);
}

} // namespace

std::size_t length_of_character(std::string_view text)
{
    constexpr std::size_t longest = 4;
    const auto ones =
        static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(text.front())));
    if (ones == 0)
        return 1;
    if (text.size() < 2
        || is_no_beginning(static_cast<unsigned char>(text[0]),
                           static_cast<unsigned char>(text[1])))
        return 0;
    const std::string_view rest = text.substr(1, ones - 1);
    const bool whole = ones > 1 && ones <= longest && rest.size() == ones - 1
                       && std::ranges::all_of(rest, [](char c) {
                              return std::countl_one(static_cast<unsigned char>(c)) == 1;
                          });
    return whole ? ones : 0;
}

bool is_control(std::string_view character)
{
    constexpr unsigned char first_printable = 0x20;
    constexpr unsigned char delete_character = 0x7f;
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1)
        return first < first_printable || first == delete_character;
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

char32_t code_point(std::string_view character)
{
    constexpr unsigned bits_of_others = 6;
    constexpr unsigned bits_of_first = 7; // less one for each byte, if there are several
    const auto bits = [](char byte, unsigned count) {
        return static_cast<unsigned char>(byte) & ((1U << count) - 1);
    };
    const auto size = static_cast<unsigned>(character.size());
    char32_t value = bits(character.front(), size == 1 ? bits_of_first : bits_of_first - size);
    for (const char byte : character.substr(1))
        value = value << bits_of_others | bits(byte, bits_of_others);
    return value;
}

bool changes_order(std::string_view character)
{
    const char32_t code = code_point(character);
    const auto is_between = [&](char32_t first, char32_t last) {
        return code >= first && code <= last;
    };
    // Marks, separators of lines and paragraphs, embeddings and overrides, isolates.
    return code == 0x061c || is_between(0x200e, 0x200f) || is_between(0x2028, 0x202e)
           || is_between(0x2066, 0x2069);
}

} // namespace gpuctr_cli
