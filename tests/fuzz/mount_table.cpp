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
#include <optional>
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

/// None for what is no path: it begins with a slash and has no null character.
std::optional<std::string> decoded(std::string_view text)
{
    constexpr std::size_t escape = 4;
    constexpr int most = 0377;
    std::string path;
    while (!text.empty()) {
        if (text.size() >= escape && text[0] == '\\' && is_octal(text[1]) && is_octal(text[2])
            && is_octal(text[3])) {
            const int byte = (text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0';
            if (byte > most)
                return std::nullopt;
            path += static_cast<char>(byte);
            text.remove_prefix(escape);
        } else {
            path += text.front();
            text.remove_prefix(1);
        }
    }
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        return std::nullopt;
    return path;
}

std::optional<Line> read_line(std::string_view text)
{
    constexpr std::size_t path_field = 4;
    constexpr std::size_t first_optional = 6;
    auto fields = base::split(text, ' ');
    std::size_t separator = first_optional;
    while (separator < fields.size() && !fields[separator].starts_with('-'))
        ++separator;
    if (separator >= fields.size())
        return std::nullopt;
    fields.resize(separator);
    if (std::find(fields.begin(), fields.end(), "") != fields.end())
        return std::nullopt;
    const auto id = base::to_number(fields[0]);
    const auto parent = base::to_number(fields[1]);
    auto path = decoded(fields[path_field]);
    if (!id || !parent || !path || fields[path_field].front() != '/')
        return std::nullopt;
    const bool shared = std::any_of(fields.begin() + first_optional, fields.end(),
                                    [](std::string_view field) { return field.starts_with('s'); });
    return Line{*id, *parent, shared, *std::move(path)};
}

/// As proc(5) says it, a line at a time, without a thought of memory. None for a table
/// with a line that the kernel does not write, or one that has no end.
std::optional<std::vector<Line>> read_simply(std::string_view table)
{
    std::vector<Line> lines;
    for (auto end = table.find('\n'); end != std::string_view::npos; end = table.find('\n')) {
        auto line = read_line(table.substr(0, end));
        if (!line)
            return std::nullopt;
        lines.push_back(*std::move(line));
        table.remove_prefix(end + 1);
    }
    return table.empty() ? std::optional(std::move(lines)) : std::nullopt;
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
        expected.push_back(line.path);
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

/// Nothing is made of what is no table.
void check_refusal(int fd, std::uint64_t id, int table)
{
    Collector found;
    demand(mount::read_children(fd, found, table) == mount::Listing::failed,
           "a broken table lists nothing");
    demand(mount::count_below_by_table(fd, table) == -1, "it counts nothing");
    demand(mount::look_up(id, table).found == mount::Found::unknown, "it finds nothing");
}

} // namespace

/// A whole mount table, in which '@' stands for the mount that is asked for. Compared
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
    if (!lines)
        return check_refusal(root.get(), id, file.get());
    check_children(root.get(), id, *lines, file.get());
    check_count(root.get(), id, *lines, file.get());
    check_look_up(*lines, file.get());
}

} // namespace gpucontainer::fuzz
