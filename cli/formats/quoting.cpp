// SPDX-License-Identifier: MIT
#include "formats/quoting.hpp"

#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <gpucontainer/gpucontainer.hpp>
#include <string>

namespace gpuctr_cli {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view other_plain = "0123456789_@%+=:,./-";

bool is_plain(char c)
{
    return letters.find(c) != std::string_view::npos
           || other_plain.find(c) != std::string_view::npos;
}

std::string name_of(char c)
{
    return c == '\n' ? "a line break" : c == '\r' ? "a carriage return" : formatted("'{}'", c);
}

[[noreturn]] void refuse_because(std::string_view text, std::string_view what,
                                 const std::string& why)
{
    throw gpucontainer::Error(
        GPUCTR_E_USAGE, formatted("{}: {} cannot express {}", text, what, why),
        "use a path without it, or set the container up with `gpuctr-setup --rootfs` or `--pid`", 0,
        std::string(text));
}

} // namespace

std::string shell_word(std::string_view text)
{
    if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain))
        return std::string(text);
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::string csv_field(std::string_view text)
{
    if (text.find_first_of(",\"\r\n") == std::string_view::npos)
        return std::string(text);
    std::string field = "\"";
    for (const char c : text)
        field += c == '"' ? std::string("\"\"") : std::string(1, c);
    return field + "\"";
}

std::string fstab_field(std::string_view text)
{
    std::string field;
    for (const char c : text) {
        if (std::string_view(" \t\n\\").find(c) == std::string_view::npos)
            field += c;
        else
            field += formatted("\\{:03o}", static_cast<unsigned char>(c));
    }
    return field;
}

std::string escaped(std::string_view text, std::string_view characters)
{
    std::string whole;
    for (const char c : text) {
        if (c == '\\' || characters.find(c) != std::string_view::npos)
            whole += '\\';
        whole += c;
    }
    return whole;
}

void refuse(std::string_view text, std::string_view characters, std::string_view what)
{
    const auto found = text.find_first_of(characters);
    if (found != std::string_view::npos)
        refuse_because(text, what, name_of(text[found]));
}

void refuse_blank_end(std::string_view text, std::string_view what)
{
    if (!text.empty()
        && std::string_view(" \t\n\v\f\r").find(text.back()) != std::string_view::npos)
        refuse_because(text, what, "a blank at the end");
}

void OptionLines::add(std::initializer_list<std::string_view> words)
{
    std::string line;
    for (const std::string_view word : words)
        line += (line.empty() ? "" : " ") + shell_word(word);
    lines_.push_back(std::move(line));
}

std::string OptionLines::text() const
{
    std::string text;
    for (const std::string& line : lines_)
        text += (text.empty() ? "" : " \\\n") + line;
    return text.empty() ? text : text + "\n";
}

} // namespace gpuctr_cli
