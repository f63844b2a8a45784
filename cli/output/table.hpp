// SPDX-License-Identifier: MIT
#pragma once

#include "output/paint.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// Rows in aligned columns under a heading.
class Table {
public:
    explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    bool empty() const noexcept { return rows_.size() == 1; }
    enum class Heading : bool { hidden, shown };
    void print(std::FILE* out, const Paint& paint, Heading heading = Heading::shown) const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/// Makes foreign text safe for a terminal: escapes control characters and invalid UTF-8.
std::string printable(std::string_view text);

} // namespace gpuctr_cli
