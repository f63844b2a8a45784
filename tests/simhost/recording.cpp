// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace gpucontainer::simhost {

Error bad_line(std::size_t number, std::string_view what, std::string_view text)
{
    return {Errc::usage, base::format("line {}: {} '{}'", number, what, text)};
}

namespace {

constexpr std::size_t max_lines = 200'000;
constexpr std::size_t max_name = 255;
constexpr std::size_t max_path = 4096;
constexpr std::uint64_t max_file_size = std::uint64_t{64} << 30U;
constexpr std::uint64_t max_device_number = 0xfffff;

/// Calls `handle(number, line)` for each line until one of them fails.
template <typename Handle>
Result<void> for_each_line(std::string_view text, Handle&& handle)
{
    std::size_t number = 0;
    for (const std::string_view line : base::split(text, '\n')) {
        if (++number > max_lines)
            return Error(Errc::usage, base::format("more than {} lines", max_lines));
        GPUCTR_CHECK(handle(number, line));
    }
    return {};
}

/// Which column of files.tsv holds what, by the names in its first line.
class Columns {
public:
    static Result<Columns> parse(std::string_view line)
    {
        if (!line.starts_with('#'))
            return bad_line(1, "no column names in", line);
        Columns columns;
        columns.names_ = base::split(line.substr(1), '\t');
        for (const std::string_view name : {"path", "kind", "mode", "size", "target"})
            if (!columns.index(name))
                return bad_line(1, "no column", name);
        return columns;
    }

    std::string_view value(const std::vector<std::string_view>& fields, std::string_view name) const
    {
        const auto at = index(name);
        return at && *at < fields.size() ? fields[*at] : std::string_view();
    }

    std::size_t size() const { return names_.size(); }

private:
    std::optional<std::size_t> index(std::string_view name) const
    {
        const auto found = std::find(names_.begin(), names_.end(), name);
        if (found == names_.end())
            return std::nullopt;
        return static_cast<std::size_t>(found - names_.begin());
    }

    std::vector<std::string_view> names_;
};

std::vector<std::string> list_of(std::string_view text)
{
    std::vector<std::string> parts;
    for (const std::string_view part : base::split(text, ','))
        if (!part.empty())
            parts.emplace_back(part);
    return parts;
}

std::optional<mode_t> to_mode(std::string_view text)
{
    if (text.empty() || text.size() > 4
        || text.find_first_not_of("01234567") != std::string_view::npos)
        return std::nullopt;
    mode_t mode = 0;
    for (const char digit : text)
        mode = mode * 8 + static_cast<mode_t>(digit - '0');
    return mode;
}

Result<RecordedFile> parse_file(std::size_t number, std::string_view line, const Columns& columns)
{
    const auto fields = base::split(line, '\t');
    if (fields.size() > columns.size())
        return bad_line(number, "too many columns in", line);

    RecordedFile file;
    file.path = columns.value(fields, "path");
    if (!is_plain_path(file.path))
        return bad_line(number, "no absolute plain path", file.path);
    const std::string_view kind = columns.value(fields, "kind");
    if (kind != "f" && kind != "l")
        return bad_line(number, "kind is neither f nor l but", kind);
    file.is_link = kind == "l";
    file.target = columns.value(fields, "target");
    if (file.is_link && (file.target.empty() || file.target.size() >= max_path))
        return bad_line(number, "no usable target of the link", file.path);

    const auto mode = to_mode(columns.value(fields, "mode"));
    if (!mode)
        return bad_line(number, "mode is not octal but", columns.value(fields, "mode"));
    file.mode = *mode;
    const std::string_view size = columns.value(fields, "size");
    const auto bytes = size.empty() && file.is_link ? std::uint64_t{0} : base::to_number(size);
    if (!bytes || *bytes > max_file_size)
        return bad_line(number, "no usable size:", size);
    file.size = *bytes;

    file.elf_class = columns.value(fields, "class");
    file.machine = columns.value(fields, "machine");
    file.soname = columns.value(fields, "soname");
    file.needed = list_of(columns.value(fields, "needed"));
    file.versions = list_of(columns.value(fields, "verneed"));
    file.runpath = columns.value(fields, "runpath");
    file.rpath = columns.value(fields, "rpath");
    file.interpreter = columns.value(fields, "interpreter");
    file.definitions = list_of(columns.value(fields, "verdef"));
    return file;
}

std::vector<std::string_view> words_of(std::string_view line)
{
    std::vector<std::string_view> words = base::split(line, ' ');
    words.erase(std::remove(words.begin(), words.end(), std::string_view()), words.end());
    return words;
}

/// Fills in the device number of a node that is no link.
Result<void> parse_numbers(std::size_t number, std::string_view text, DeviceNode& node)
{
    const auto parts = base::split(text, ':');
    const auto major = base::to_number(parts.front());
    const auto minor = base::to_number(parts.back());
    if (parts.size() != 2 || !major || !minor || *major > max_device_number
        || *minor > max_device_number)
        return bad_line(number, "no device number:", text);
    node.major = static_cast<unsigned>(*major);
    node.minor = static_cast<unsigned>(*minor);
    return {};
}

Result<DeviceNode> parse_node(std::size_t number, std::string_view line)
{
    const auto words = words_of(line);
    if (words.size() < 6)
        return bad_line(number, "fewer than six fields in", line);
    DeviceNode node;
    node.path = words[0];
    if (!is_plain_path(node.path) || !base::is_below(node.path, "/dev") || node.path == "/dev")
        return bad_line(number, "no plain path below /dev:", words[0]);
    const auto mode = to_mode(words[3]);
    const auto uid = base::to_number(words[4]);
    const auto gid = base::to_number(words[5]);
    if (!mode || !uid || !gid || *uid > UINT32_MAX || *gid > UINT32_MAX)
        return bad_line(number, "no usable mode, uid and gid in", line);
    node.mode = *mode;
    node.uid = static_cast<uid_t>(*uid);
    node.gid = static_cast<gid_t>(*gid);

    if (words[1] == "l") {
        node.kind = NodeKind::link;
        if (words.size() != 8 || words[6] != "->")
            return bad_line(number, "no '-> target' of a link in", line);
        node.target = words[7];
        return node;
    }
    if (words[1] != "c" && words[1] != "b")
        return bad_line(number, "kind is none of c, b, l but", words[1]);
    node.kind = words[1] == "c" ? NodeKind::character : NodeKind::block;
    GPUCTR_CHECK(parse_numbers(number, words[2], node));
    return node;
}

} // namespace

bool is_plain_path(std::string_view path)
{
    if (!path.starts_with('/') || path.size() < 2 || path.size() >= max_path
        || path.find('\0') != std::string_view::npos)
        return false;
    const auto parts = base::split(path.substr(1), '/');
    return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
        return !part.empty() && part != "." && part != ".." && part.size() <= max_name;
    });
}

bool is_plain_name(std::string_view name)
{
    return name.find('/') == std::string_view::npos && is_plain_path("/" + std::string(name));
}

std::optional<std::string> target_of_link(std::string_view path, std::string_view target)
{
    const std::string whole = target.starts_with('/')
                                  ? std::string(target)
                                  : base::format("{}/{}", base::directory_of(path), target);
    std::vector<std::string_view> parts;
    for (const std::string_view part : base::split(whole, '/')) {
        if (part.empty() || part == ".")
            continue;
        if (part != "..")
            parts.push_back(part);
        else if (parts.empty())
            return std::nullopt;
        else
            parts.pop_back();
    }
    return "/" + base::joined(parts, "/");
}

Result<std::vector<RecordedFile>> parse_files(std::string_view text)
{
    GPUCTR_TRY(const auto columns, Columns::parse(text.substr(0, text.find('\n'))));
    std::vector<RecordedFile> files;
    GPUCTR_CHECK(for_each_line(text, [&](std::size_t number, std::string_view line) {
        return line.empty() || line.starts_with('#') ? Result<void>() : [&]() -> Result<void> {
            GPUCTR_TRY(auto file, parse_file(number, line, columns));
            files.push_back(std::move(file));
            return {};
        }();
    }));
    return files;
}

Result<std::vector<DeviceNode>> parse_nodes(std::string_view text)
{
    std::vector<DeviceNode> nodes;
    GPUCTR_CHECK(
        for_each_line(text, [&](std::size_t number, std::string_view line) -> Result<void> {
            if (base::trim(line).empty() || line.starts_with('#'))
                return {};
            GPUCTR_TRY(auto node, parse_node(number, line));
            nodes.push_back(std::move(node));
            return {};
        }));
    return nodes;
}

Result<std::vector<TextFile>> parse_loader_conf(std::string_view text)
{
    constexpr std::string_view header = "# /";
    std::vector<TextFile> files;
    GPUCTR_CHECK(
        for_each_line(text, [&](std::size_t number, std::string_view line) -> Result<void> {
            if (line.starts_with(header)
                && line.find(' ', header.size()) == std::string_view::npos) {
                const std::string_view path = line.substr(header.size() - 1);
                if (!is_plain_path(path))
                    return bad_line(number, "no plain path", path);
                files.push_back({std::string(path), {}});
            } else if (!files.empty()) {
                files.back().content.append(line).append("\n");
            } else if (!base::trim(line).empty()) {
                return bad_line(number, "text before the first '# /path' line:", line);
            }
            return {};
        }));
    for (TextFile& file : files) // an empty line separates the parts
        while (file.content.ends_with("\n\n") || file.content == "\n")
            file.content.pop_back();
    return files;
}

} // namespace gpucontainer::simhost
