// SPDX-License-Identifier: MIT
#pragma once

#include "output/output.hpp"
#include "output/table.hpp"

#include <cstdio>

namespace gpuctr_setup {

/// What a driver or plan left out, and why; nothing when it is nothing.
template <typename List>
void print_skipped(const List& list, std::FILE* out)
{
    Table table({"LEFT OUT", "PATH", "REASON"});
    for (const auto skipped : list)
        table.add(
            {printable(skipped.name()), printable(skipped.source()), printable(skipped.reason())});
    if (table.empty())
        return;
    print(out, "\n");
    table.print(out);
}

} // namespace gpuctr_setup
