// SPDX-License-Identifier: MIT
#include "output/table.hpp"

#include "output/characters.hpp"
#include "output/format.hpp"
#include "output/output.hpp"

#include <algorithm>
#include <span>

namespace gpuctr_cli {

void Table::print(std::FILE* out, const Paint& paint, Heading heading) const
{
    std::vector<std::size_t> widths;
    const std::size_t first = heading == Heading::shown ? 0 : 1;
    for (const auto& row : std::span(rows_).subspan(first)) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    for (const auto& row : std::span(rows_).subspan(first)) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += i + 1 < row.size() ? formatted("{:<{}}  ", row[i], widths[i]) : row[i];
        line.erase(line.find_last_not_of(' ') + 1); // an empty last column
        write_result(out, (&row == &rows_.front() ? paint.heading(line) : line) + "\n");
    }
}

std::string printable(std::string_view text)
{
    std::string safe;
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        text.remove_prefix(character.size());
        if (length != 0 && !is_control(character) && !changes_order(character))
            safe += character;
        else
            for (const char c : character)
                safe += formatted("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return safe;
}

} // namespace gpuctr_cli
