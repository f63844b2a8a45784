// SPDX-License-Identifier: MIT
#include "options/columns.hpp"

#include "options/groups.hpp"
#include "output/format.hpp"
#include "settings/similar.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

namespace gpuctr_cli {
namespace {

using ColumnNames = std::vector<std::string>;

std::string upper(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

bool adds(const std::string& list) { return list.starts_with('+'); }

/// The names in a list, in capital letters.
ColumnNames names_in(const std::string& list)
{
    ColumnNames names;
    std::istringstream parts(upper(adds(list) ? list.substr(1) : list) + ",");
    for (std::string part; std::getline(parts, part, ',');)
        names.push_back(part);
    return names;
}

std::string check(const std::string& list, const ColumnNames& known)
{
    for (const std::string& name : names_in(list))
        if (std::find(known.begin(), known.end(), name) == known.end())
            return with_suggestion(
                formatted("'{}' is no column; columns are {}", name, fmt::join(known, ", ")),
                meant_in_capitals(name, known));
    return "";
}

} // namespace

void ColumnOptions::add_to(CLI::App& command, const ColumnNames& known, const ColumnNames& usual)
{
    names = usual;
    command.option_defaults()->group(what_is_printed);
    const auto choose = [this, usual](const std::string& list) {
        is_given = true;
        names = adds(list) ? usual : ColumnNames();
        for (std::string& name : names_in(list))
            names.push_back(std::move(name));
    };
    CLI::Option* const output =
        command
            .add_option_function<std::string>(
                "-o,--output", choose,
                formatted("print one table with these columns, separated by commas; after a + in "
                          "addition to the usual ones. Columns: {}",
                          fmt::join(known, ", ")))
            ->type_name("LIST")
            ->default_str(formatted("{}", fmt::join(usual, ",")))
            ->check([known](const std::string& list) { return check(list, known); });
    CLI::Option* const headless = command.add_flag_callback(
        "-n,--noheadings",
        [this] {
            is_given = true;
            no_heading = true;
        },
        "print one table without its heading");
    for (const char* const other : {"--format", "--json"}) {
        output->excludes(command.get_option(other));
        headless->excludes(command.get_option(other));
    }
}

} // namespace gpuctr_cli
