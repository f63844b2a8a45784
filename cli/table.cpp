// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace gpuctr_setup {

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
        fmt::print(out, "{}\n", line);
    }
}

std::string printable(std::string_view text)
{
    constexpr unsigned char first_printable = 0x20;
    constexpr unsigned char delete_character = 0x7f;
    std::string safe;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < first_printable || byte == delete_character)
            safe += fmt::format("\\x{:02x}", byte);
        else
            safe += c;
    }
    return safe;
}

} // namespace gpuctr_setup
