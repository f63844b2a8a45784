// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_csv.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using drivers::nvidia::TegraRow;
using drivers::nvidia::TegraRows;

void check(const TegraRow& row)
{
    demand(row.path.starts_with('/') && row.path.size() < PATH_MAX, "a path is absolute");
    for (const std::string_view name : base::split(std::string_view(row.path).substr(1), '/'))
        demand(!name.empty() && name != "." && name != "..", "a path leads down alone");
    demand(std::ranges::none_of(row.path, base::is_control), "a path can be shown");
    demand(row.kind != TegraRow::Kind::device || row.path.starts_with("/dev/"),
           "a node is below /dev");
}

/// In the order of the enumerators.
std::string to_text(const TegraRows& found)
{
    constexpr std::array types = {"dev", "dir", "lib", "sym"};
    std::string text;
    for (const TegraRow& row : found.rows)
        text += base::format("{}, {}\n", types.at(static_cast<std::size_t>(row.kind)), row.path);
    return text;
}

bool is_same(const TegraRow& left, const TegraRow& right)
{
    return left.kind == right.kind && left.path == right.path;
}

} // namespace

/// A list of a Jetson's files and nodes.
void run(std::string_view input)
{
    const auto lines = static_cast<std::size_t>(std::ranges::count(input, '\n')) + 1;
    const TegraRows found = drivers::nvidia::parse_tegra_csv(input);
    for (const TegraRow& row : found.rows) {
        check(row);
        demand(row.line >= 1 && row.line <= lines, "a row stands in a line");
    }
    for (const auto& complaint : found.complaints) {
        demand(complaint.line >= 1 && complaint.line <= lines, "so does what is none");
        demand(!complaint.reason.empty()
                   && std::ranges::none_of(complaint.reason, base::is_control),
               "there is a reason, and it can be shown");
    }
    const TegraRows again = drivers::nvidia::parse_tegra_csv(to_text(found));
    demand(again.complaints.empty() && std::ranges::equal(found.rows, again.rows, is_same),
           "what was read can be written, and is the same then");
}

} // namespace gpucontainer::fuzz
