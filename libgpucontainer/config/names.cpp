// SPDX-License-Identifier: MIT
#include "config/names.hpp"

#include <algorithm>

namespace gpucontainer::config {
namespace {

bool is_small_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c)
{
    return is_small_letter(c) || (c >= 'A' && c <= 'Z') || is_digit(c)
           || std::string_view("._+-").find(c) != std::string_view::npos;
}

} // namespace

bool is_file_name(std::string_view name)
{
    return !name.empty() && std::ranges::all_of(name, is_name_character) && !name.starts_with('.');
}

bool is_vendor_name(std::string_view name)
{
    constexpr std::size_t longest = 32;
    return !name.empty() && name.size() <= longest && is_small_letter(name.front()) && name != "any"
           && std::ranges::all_of(
               name, [](char c) { return is_small_letter(c) || is_digit(c) || c == '-'; });
}

} // namespace gpucontainer::config
