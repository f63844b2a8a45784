// SPDX-License-Identifier: MIT
#include "mount/table.hpp"

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "mount/statmount.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <fcntl.h>
#include <set>
#include <string>
#include <vector>

namespace gpucontainer::fuzz {
namespace {

struct Line {
    std::uint64_t id = 0;
    std::uint64_t parent = 0;
    bool shared = false;
    std::string path;
};

bool is_octal(char c) { return c >= '0' && c <= '7'; }

std::string decoded(std::string_view text)
{
    constexpr std::size_t escape = 4;
    std::string path;
    while (!text.empty()) {
        if (text.size() >= escape && text[0] == '\\' && is_octal(text[1]) && is_octal(text[2])
            && is_octal(text[3])) {
            path += static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
            text.remove_prefix(escape);
        } else {
            path += text.front();
            text.remove_prefix(1);
        }
    }
    return path;
}

std::uint64_t number_in(std::string_view field)
{
    std::uint64_t number = 0;
    for (const char c : field)
        if (c >= '0' && c <= '9')
            number = number * 10 + static_cast<std::uint64_t>(c - '0');
    return number;
}

/// As proc(5) says it, a line at a time, without a thought of memory.
std::vector<Line> read_simply(std::string_view table)
{
    constexpr std::size_t path_field = 4;
    constexpr std::size_t first_optional = 6;
    std::vector<Line> lines;
    for (auto end = table.find('\n'); end != std::string_view::npos; end = table.find('\n')) {
        const auto fields = base::split(table.substr(0, end), ' ');
        table.remove_prefix(end + 1);
        Line line;
        line.id = number_in(fields[0]);
        if (fields.size() > 1)
            line.parent = number_in(fields[1]);
        if (fields.size() > path_field)
            line.path = decoded(fields[path_field]);
        for (std::size_t i = first_optional; i < fields.size() && !fields[i].starts_with('-'); ++i)
            line.shared = line.shared || fields[i].starts_with('s');
        lines.push_back(std::move(line));
    }
    return lines;
}

bool has(const std::vector<Line>& lines, std::uint64_t id)
{
    return std::any_of(lines.begin(), lines.end(), [&](const Line& line) { return line.id == id; });
}

class Collector final : public mount::MountVisitor {
public:
    bool visit(const char* path) noexcept override
    {
        paths.emplace_back(path);
        return true;
    }
    std::vector<std::string> paths;
};

void check_children(int fd, std::uint64_t id, const std::vector<Line>& lines, int table)
{
    std::vector<std::string> expected;
    bool fits = true;
    for (const Line& line : lines) {
        if (line.parent != id)
            continue;
        fits = fits && line.path.size() < PATH_MAX;
        if (!fits)
            break;
        expected.emplace_back(line.path.c_str()); // as far as a C string goes
    }
    Collector found;
    const auto listing = mount::read_children(fd, found, table);
    demand(found.paths == expected, "the children are those of the table");
    demand((listing == mount::Listing::complete) == (fits && has(lines, id)),
           "a listing is complete when the mount is in the table");
}

void check_count(int fd, std::uint64_t id, const std::vector<Line>& lines, int table)
{
    std::set<std::uint64_t> seen = {id};
    for (std::size_t before = 0; before != seen.size();) {
        before = seen.size();
        for (const Line& line : lines)
            if (seen.contains(line.parent))
                seen.insert(line.id);
    }
    const int expected = has(lines, id) ? static_cast<int>(seen.size()) - 1 : -1;
    demand(mount::count_below_by_table(fd, table) == expected, "mounts below are counted once");
}

void check_look_up(const std::vector<Line>& lines, int table)
{
    constexpr std::size_t most = 8; // each reads the whole table
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
        const auto is_it = [&](const Line& line) { return line.id == lines[i].id; };
        const auto last = std::find_if(lines.rbegin(), lines.rend(), is_it);
        const auto found = mount::look_up(lines[i].id, table);
        demand(found.found == mount::Found::yes && found.shared == last->shared,
               "a mount of the table is found in it");
    }
}

} // namespace

/// A mount table, in which '@' stands for the mount that is asked for. Compared
/// with a reader of a few simple lines.
void run(std::string_view input)
{
    static const base::UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
    std::uint64_t id = 0;
    demand(root && mount::table_id(root.get(), id), "the root has a mount");
    const std::string number = std::to_string(id);
    std::string text;
    for (const char c : input)
        text += c == '@' ? number : std::string(1, c);
    const auto file = memory_file(text);
    const auto lines = read_simply(text);
    check_children(root.get(), id, lines, file.get());
    check_count(root.get(), id, lines, file.get());
    check_look_up(lines, file.get());
}

} // namespace gpucontainer::fuzz
