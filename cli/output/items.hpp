// SPDX-License-Identifier: MIT
#pragma once

#include "output/json.hpp"
#include "output/table.hpp"

#include <cstdio>
#include <gpucontainer/gpucontainer.hpp>
#include <string>
#include <vector>

namespace gpuctr_cli {

/// Prints the items of a plan or a set-up, one a row.
template <typename Items>
void print_items(const Items& items, bool with_reasons, std::FILE* out, const Paint& paint)
{
    std::vector<std::string> heading = {"KIND", "TARGET", "SOURCE", "OPTIONS"};
    if (with_reasons)
        heading.emplace_back("REASON");
    Table table(std::move(heading));
    for (const auto item : items) {
        std::vector<std::string> row = {std::string(item.kind()), printable(item.target()),
                                        printable(item.source()), std::string(item.options())};
        if (with_reasons)
            row.push_back(printable(item.reason()));
        table.add(std::move(row));
    }
    table.print(out, paint);
}

inline Json item_to_json(const gpucontainer::Item& item)
{
    return json_object({{"kind", json_string(item.kind())},
                        {"source", json_string(item.source())},
                        {"target", json_string(item.target())},
                        {"options", json_string(item.options())}});
}

} // namespace gpuctr_cli
