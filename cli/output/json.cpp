// SPDX-License-Identifier: MIT
#include "output/json.hpp"

#include "output/characters.hpp"
#include "output/format.hpp"

namespace gpuctr_cli {
namespace {

constexpr const char* replacement = "\\ufffd";

Json escaped(std::string_view character)
{
    if (character == "\"" || character == "\\")
        return "\\" + std::string(character);
    if (is_control(character) || changes_order(character))
        return formatted("\\u{:04x}", static_cast<unsigned>(code_point(character)));
    return std::string(character);
}

/// A value within another one: its further lines are indented. No string has a line break.
Json indented(const Json& value)
{
    Json lines;
    for (const char c : value) {
        lines += c;
        if (c == '\n')
            lines += "  ";
    }
    return lines;
}

Json between(char open, const std::vector<Json>& parts, char close)
{
    Json all(1, open);
    for (std::size_t i = 0; i < parts.size(); ++i)
        all += (i == 0 ? "\n  " : ",\n  ") + indented(parts[i]);
    return all + (parts.empty() ? "" : "\n") + close;
}

} // namespace

Json json_string(std::string_view text)
{
    Json value = "\"";
    while (!text.empty()) {
        const std::size_t length = length_of_character(text);
        value += length == 0 ? replacement : escaped(text.substr(0, length));
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return value + '"';
}

Json json_string_or_null(std::string_view text)
{
    return text.empty() ? "null" : json_string(text);
}

Json json_object(const std::vector<std::pair<const char*, Json>>& members)
{
    std::vector<Json> parts;
    parts.reserve(members.size());
    for (const auto& [name, value] : members)
        parts.push_back(json_string(name) + ": " + value);
    return between('{', parts, '}');
}

Json json_array(const std::vector<Json>& values) { return between('[', values, ']'); }

Json json_on_one_line(const Json& value)
{
    Json line;
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] != '\n') {
            line += value[i];
            continue;
        }
        const bool between_values = !line.empty() && line.back() == ',';
        while (i + 1 < value.size() && value[i + 1] == ' ')
            ++i;
        line += between_values ? " " : "";
    }
    return line;
}

} // namespace gpuctr_cli
