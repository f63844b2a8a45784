// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_csv.hpp"

#include "base/format.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

namespace gpucontainer::drivers::nvidia {
namespace {

using Kind = TegraRow::Kind;

// Far more than the lists of any release have.
constexpr std::size_t most_rows = 4096;
constexpr std::string_view device_directory = "/dev";

std::optional<Kind> kind_of(std::string_view word)
{
    if (word == "dev")
        return Kind::device;
    if (word == "dir")
        return Kind::directory;
    if (word == "lib")
        return Kind::library;
    if (word == "sym")
        return Kind::link;
    return std::nullopt;
}

Error bad(std::string reason) { return {Errc::usage, std::move(reason)}; }

/// The part of a word that is shown in a message.
std::string printable(std::string_view word)
{
    constexpr std::size_t longest = 32;
    std::string text(word.substr(0, longest));
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

/// The path without empty components and ".".
Result<std::string> plain_path(std::string_view path)
{
    std::string plain;
    for (const std::string_view name : base::split(path, '/')) {
        if (name == "..")
            return bad("a path with .. in it");
        if (name.size() > NAME_MAX)
            return bad("a path with a name that is too long");
        if (!name.empty() && name != ".")
            plain += base::format("/{}", name);
    }
    if (plain.empty())
        return bad("a path without a name");
    if (plain.size() >= PATH_MAX)
        return bad("a path that is too long");
    if (plain.back() != base::trim(plain).back())
        return bad("a path that ends in white space");
    return plain;
}

Result<std::string> path_of(Kind kind, std::string_view text)
{
    if (text.empty())
        return bad("no path");
    if (std::ranges::any_of(text, base::is_control))
        return bad("a path with a control character in it");
    if (text.front() == '/') {
        GPUCTR_TRY(std::string path, plain_path(text));
        if (kind == Kind::device && (path == device_directory || !base::is_below(path, "/dev")))
            return bad("a device node that is not below /dev");
        return path;
    }
    if (kind != Kind::device)
        return bad("a path that is not absolute");
    GPUCTR_TRY(const std::string below, plain_path(text));
    return plain_path(base::format("{}{}", device_directory, below));
}

Result<TegraRow> parse_row(std::string_view line, std::size_t number)
{
    const auto comma = line.find(',');
    const std::string_view word = base::trim(line.substr(0, comma));
    const auto kind = kind_of(word);
    if (!kind)
        return bad(base::format("unknown type '{}'", printable(word)));
    const std::string_view text =
        comma == std::string_view::npos ? std::string_view() : base::trim(line.substr(comma + 1));
    GPUCTR_TRY(std::string path, path_of(*kind, text));
    return TegraRow{*kind, std::move(path), number};
}

} // namespace

TegraRows parse_tegra_csv(std::string_view text)
{
    TegraRows found;
    std::size_t number = 0;
    for (const std::string_view whole : base::split(text, '\n')) {
        ++number;
        const std::string_view line = base::trim(whole);
        if (line.empty() || line.front() == '#')
            continue;
        if (found.rows.size() + found.complaints.size() == most_rows) {
            found.complaints.push_back(
                {number,
                 base::format("more than {} rows; it and those after it are left out", most_rows)});
            break;
        }
        auto row = parse_row(line, number);
        if (row)
            found.rows.push_back(*std::move(row));
        else
            found.complaints.push_back({number, row.error().message()});
    }
    return found;
}

} // namespace gpucontainer::drivers::nvidia
