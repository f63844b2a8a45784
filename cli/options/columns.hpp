// SPDX-License-Identifier: MIT
#pragma once

#include "output/table.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// --output and --noheadings, which print one table with chosen columns.
struct ColumnOptions {
    std::vector<std::string> names; ///< In the order of the table.
    bool no_heading = false;
    bool is_given = false; ///< One of the two was typed.

    /// `known` are the columns that there are, in the order of --help; `usual` those of a table
    /// that names none.
    void add_to(CLI::App& command, const std::vector<std::string>& known,
                const std::vector<std::string>& usual);
};

/// A column of a table whose rows are of this type.
template <typename Row>
struct Column {
    const char* name;
    bool is_usual;
    std::string (*cell)(const Row& row); ///< "" where there is nothing to tell.
};

template <typename Row>
void add_columns(CLI::App& command, std::span<const Column<Row>> all, ColumnOptions& options)
{
    std::vector<std::string> known;
    std::vector<std::string> usual;
    for (const auto& column : all) {
        known.emplace_back(column.name);
        if (column.is_usual)
            usual.emplace_back(column.name);
    }
    options.add_to(command, known, usual);
}

/// Prints nothing if there are no rows.
template <typename Row>
void print_columns(const std::vector<Row>& rows, std::span<const Column<Row>> all,
                   const ColumnOptions& options, std::FILE* out, const Paint& paint)
{
    Table table(options.names);
    for (const Row& row : rows) {
        std::vector<std::string> cells;
        for (const std::string& name : options.names) {
            const auto column =
                std::find_if(all.begin(), all.end(), [&](const auto& c) { return name == c.name; });
            const std::string cell = column->cell(row);
            cells.push_back(cell.empty() ? "-" : printable(cell));
        }
        table.add(std::move(cells));
    }
    if (!table.empty())
        table.print(out, paint,
                    options.no_heading ? Table::Heading::hidden : Table::Heading::shown);
}

} // namespace gpuctr_cli
