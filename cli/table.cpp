// SPDX-License-Identifier: MIT
#include "table.hpp"

#include "output.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace gpuctr_setup {
namespace {

/// How many bytes at the beginning are a control character, which in UTF-8 may
/// also be one of U+0080 to U+009F.
std::size_t length_of_control(std::string_view text)
{
    constexpr unsigned char first_printable = 0x20;
    constexpr unsigned char delete_character = 0x7f;
    const auto first = static_cast<unsigned char>(text.front());
    if (first < first_printable || first == delete_character)
        return 1;
    return first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0 ? 2 : 0;
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
            line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
        line.erase(line.find_last_not_of(' ') + 1); // an empty last column
        write_result(out, line + "\n");
    }
}

std::string printable(std::string_view text)
{
    std::string safe;
    while (!text.empty()) {
        const std::size_t control = length_of_control(text);
        for (const char c : text.substr(0, control))
            safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        if (control == 0)
            safe += text.front();
        text.remove_prefix(std::max<std::size_t>(control, 1));
    }
    return safe;
}

} // namespace gpuctr_setup
