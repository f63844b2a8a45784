// SPDX-License-Identifier: MIT
#include "output/table.hpp"

#include "output/format.hpp"
#include "output/output.hpp"

#include <algorithm>
#include <bit>

namespace gpuctr_cli {
namespace {

/// Length of the first character in UTF-8, in bytes; 0 if it is invalid.
std::size_t length_of_character(std::string_view text)
{
    constexpr std::size_t longest = 4;
    const auto ones =
        static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(text.front())));
    if (ones == 0)
        return 1;
    const std::string_view rest = text.substr(1, ones - 1);
    const bool whole = ones > 1 && ones <= longest && rest.size() == ones - 1
                       && std::ranges::all_of(rest, [](char c) {
                              return std::countl_one(static_cast<unsigned char>(c)) == 1;
                          });
    return whole ? ones : 0;
}

/// Control characters include U+0080 to U+009F.
bool is_control(std::string_view character)
{
    constexpr unsigned char first_printable = 0x20;
    constexpr unsigned char delete_character = 0x7f;
    const auto first = static_cast<unsigned char>(character.front());
    if (character.size() == 1)
        return first < first_printable || first == delete_character;
    return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

} // namespace

void Table::print(std::FILE* out) const
{
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += i + 1 < row.size() ? formatted("{:<{}}  ", row[i], widths[i]) : row[i];
        line.erase(line.find_last_not_of(' ') + 1); // an empty last column
        write_result(out, line + "\n");
    }
}

std::string printable(std::string_view text)
{
    std::string safe;
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        text.remove_prefix(character.size());
        if (length != 0 && !is_control(character))
            safe += character;
        else
            for (const char c : character)
                safe += formatted("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return safe;
}

} // namespace gpuctr_cli
