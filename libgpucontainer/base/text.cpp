// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

namespace gpucontainer::base {
namespace {

/// Length of the first UTF-8 character in bytes; 0 if it is invalid.
std::size_t length_of_character(std::string_view text)
{
    constexpr std::array<std::uint32_t, 5> smallest = {0, 0, 0x80, 0x800, 0x10000};
    const auto lead = static_cast<unsigned char>(text.front());
    const auto ones = static_cast<std::size_t>(std::countl_one(lead));
    if (ones == 0)
        return 1;
    if (ones == 1 || ones >= smallest.size() || text.size() < ones)
        return 0;
    std::uint32_t code = lead & (0x7fU >> ones);
    for (const char c : text.substr(1, ones - 1)) {
        if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U)
            return 0;
        code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest.at(ones) || surrogate || code > 0x10ffff ? 0 : ones;
}

} // namespace

std::string_view trim(std::string_view text)
{
    constexpr std::string_view blank = " \t\r\n\v\f";
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    while (true) {
        const auto end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::uint64_t> to_number(std::string_view text, int base)
{
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

std::string to_lower(std::string_view text)
{
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string_view directory_of(std::string_view path)
{
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos)
        return {};
    return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view name_of(std::string_view path)
{
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_below(std::string_view path, std::string_view directory)
{
    while (!directory.empty() && directory.back() == '/')
        directory.remove_suffix(1);
    if (!path.starts_with(directory))
        return false;
    return path.size() == directory.size() || path[directory.size()] == '/';
}

} // namespace gpucontainer::base
