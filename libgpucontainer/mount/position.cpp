// SPDX-License-Identifier: MIT
#include "mount/position.hpp"

#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "syscall/mount_number.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::mount {
namespace {

constexpr std::size_t largest_table = std::size_t{64} << 20U;

/// A path in which space, tab, newline and backslash are written in octal.
std::string decoded(std::string_view field)
{
    constexpr std::size_t digits = 3; // "\040"
    std::string text;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const auto code =
            field[i] == '\\' ? base::to_number(field.substr(i + 1, digits), 8) : std::nullopt;
        text += code ? static_cast<char>(*code) : field[i];
        i += code ? digits : 0;
    }
    return text;
}

/// A line "ID PARENT DEVICE ROOT PATH ... - TYPE SOURCE OPTIONS".
struct Line {
    std::uint64_t number;
    std::string_view device; ///< This and the rest are not decoded.
    std::string_view root;
    std::string_view point;
    std::string_view type;
    std::string_view options; ///< Of the file system.
};

/// Calls `visit` with each line until it returns false.
template <typename Visit>
void for_each_line(std::string_view table, Visit visit)
{
    for (const std::string_view line : base::split(table, '\n')) {
        const auto fields = base::split(line, ' ');
        constexpr std::size_t least = 6;
        const auto number = fields.size() < least ? std::nullopt : base::to_number(fields[0]);
        const auto separator = std::ranges::find(fields, "-");
        const bool whole = std::distance(separator, fields.end()) > 3;
        if (number
            && !visit(Line{*number, fields[2], fields[3], fields[4], whole ? separator[1] : "",
                           whole ? separator[3] : ""}))
            return;
    }
}

std::optional<Line> find_line(std::string_view table, std::uint64_t number)
{
    std::optional<Line> found;
    for_each_line(table, [&](const Line& line) {
        if (line.number == number)
            found = line;
        return !found;
    });
    return found;
}

Result<std::string> own_table_text()
{
    return base::read_file("/proc/thread-self/mountinfo", largest_table);
}

/// The device number of "8:1", as in system calls; 0 if it is not one.
std::uint64_t to_device(std::string_view field)
{
    const auto parts = base::split(field, ':');
    const auto high = base::to_number(parts[0]);
    const auto low = parts.size() == 2 ? base::to_number(parts[1]) : std::nullopt;
    return high && low ? ::makedev(static_cast<unsigned>(*high), static_cast<unsigned>(*low)) : 0;
}

/// The position of a directory, from the line of its mount.
std::optional<Position> position_in(std::string_view table, int fd)
{
    std::uint64_t mount = 0;
    const auto path = base::path_of(fd);
    if (!path || !syscall::mount_number(fd, mount))
        return std::nullopt;
    const auto line = find_line(table, mount);
    const std::string root = line ? decoded(line->root) : "";
    const std::string point = line ? decoded(line->point) : "";
    if (!line || !base::is_below(*path, point))
        return std::nullopt;
    const std::string below = path->substr(point == "/" ? 0 : point.size());
    const std::string inside = (root == "/" ? "" : root) + below;
    return Position{to_device(line->device), inside.empty() ? "/" : inside, std::string(line->type),
                    std::string(line->options)};
}

/// Whether a mount may hide that `inner` lies in `outer`: both are on one device, and `inner` is on
/// a mount that is neither that of `outer` nor that of "/", above which this process reaches
/// nothing.
bool may_hide(int inner, int outer)
{
    struct stat left = {};
    struct stat right = {};
    std::uint64_t mount = 0;
    std::uint64_t mount_of_outer = 0;
    std::uint64_t mount_of_root = 0;
    const base::UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return ::fstat(inner, &left) == 0 && ::fstat(outer, &right) == 0 && left.st_dev == right.st_dev
           && syscall::mount_number(inner, mount) && syscall::mount_number(outer, mount_of_outer)
           && mount != mount_of_outer && root && syscall::mount_number(root.get(), mount_of_root)
           && mount != mount_of_root;
}

} // namespace

bool lies_within(int inner, int outer)
{
    if (!may_hide(inner, outer))
        return false;
    const auto table = own_table_text();
    if (!table)
        return false;
    const auto inside = position_in(*table, inner);
    const auto outside = position_in(*table, outer);
    return inside && outside && inside->device == outside->device
           && base::is_below(inside->path, outside->path);
}

std::vector<std::uint64_t> mounts_at(std::string_view path)
{
    std::vector<std::uint64_t> found;
    if (const auto table = own_table_text())
        for_each_line(*table, [&](const Line& line) {
            if (decoded(line.point) == path)
                found.push_back(line.number);
            return true;
        });
    return found;
}

std::optional<std::string> path_of_mount(std::uint64_t number)
{
    const auto table = own_table_text();
    const auto line = table ? find_line(*table, number) : std::nullopt;
    return line ? std::optional(decoded(line->point)) : std::nullopt;
}

std::optional<Position> position_of(int fd, int table)
{
    const auto text = table == own_table ? own_table_text() : base::read_all(table, largest_table);
    return text ? position_in(*text, fd) : std::nullopt;
}

std::optional<std::string> option_of(const Position& position, std::string_view name)
{
    for (const std::string_view option : base::split(position.options, ','))
        if (option.starts_with(name) && option.substr(name.size()).starts_with('='))
            return decoded(option.substr(name.size() + 1));
    return std::nullopt;
}

namespace {

template <typename Wanted>
std::optional<std::vector<MountPoint>> mounts_if(Wanted wanted)
{
    const auto table = own_table_text();
    if (!table)
        return std::nullopt;
    std::vector<MountPoint> found;
    for_each_line(*table, [&](const Line& line) {
        if (wanted(line))
            found.push_back({line.number, decoded(line.root), decoded(line.point)});
        return true;
    });
    return found;
}

} // namespace

std::optional<std::vector<MountPoint>> mounts_of(std::uint64_t device)
{
    return mounts_if([&](const Line& line) { return to_device(line.device) == device; });
}

std::optional<std::vector<MountPoint>> local_anonymous_mounts()
{
    constexpr std::array<std::string_view, 4> local = {"bcachefs", "btrfs", "tmpfs", "zfs"};
    return mounts_if([&](const Line& line) {
        return line.device.starts_with("0:") && std::ranges::find(local, line.type) != local.end();
    });
}

} // namespace gpucontainer::mount
