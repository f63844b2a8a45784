// SPDX-License-Identifier: MIT
#include "mount/position.hpp"

#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/mount_number.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::mount {
namespace {

constexpr std::size_t largest_table = std::size_t{64} << 20U;

/// A place in a file system, whatever mount shows it.
struct Position {
    std::string_view device;
    std::string path;
};

/// Space, tab, newline and backslash of a path are written in octal.
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

/// By the line "ID PARENT DEVICE ROOT PATH ..." of the mount that a directory is on.
std::optional<Position> position_of(int fd, std::string_view table)
{
    std::uint64_t mount = 0;
    const auto path = base::path_of(fd);
    if (!path || !base::mount_number(fd, mount))
        return std::nullopt;
    for (const std::string_view line : base::split(table, '\n')) {
        const auto fields = base::split(line, ' ');
        constexpr std::size_t least = 6;
        if (fields.size() < least || base::to_number(fields[0]) != mount)
            continue;
        const std::string root = decoded(fields[3]);
        const std::string point = decoded(fields[4]);
        if (!base::is_below(*path, point))
            return std::nullopt;
        const std::string below = path->substr(point == "/" ? 0 : point.size());
        return Position{fields[2], (root == "/" ? "" : root) + below};
    }
    return std::nullopt;
}

/// On one device, and `inner` on a mount that is neither that of `outer` nor that of "/",
/// above which there is nothing for this process.
bool may_hide(int inner, int outer)
{
    struct stat left = {};
    struct stat right = {};
    std::uint64_t mount = 0;
    std::uint64_t mount_of_outer = 0;
    std::uint64_t mount_of_root = 0;
    const base::UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return ::fstat(inner, &left) == 0 && ::fstat(outer, &right) == 0 && left.st_dev == right.st_dev
           && base::mount_number(inner, mount) && base::mount_number(outer, mount_of_outer)
           && mount != mount_of_outer && root && base::mount_number(root.get(), mount_of_root)
           && mount != mount_of_root;
}

} // namespace

bool lies_within(int inner, int outer)
{
    if (!may_hide(inner, outer))
        return false;
    const auto table = base::read_file("/proc/thread-self/mountinfo", largest_table);
    if (!table)
        return false;
    const auto inside = position_of(inner, *table);
    const auto outside = position_of(outer, *table);
    return inside && outside && inside->device == outside->device
           && base::is_below(inside->path, outside->path);
}

bool is_mounted(std::uint64_t device)
{
    const auto table = base::read_file("/proc/thread-self/mountinfo", largest_table);
    if (!table)
        return true;
    const std::string number = fmt::format("{}:{}", major(device), minor(device));
    const auto lines = base::split(*table, '\n');
    return std::ranges::any_of(lines, [&](std::string_view line) {
        const auto fields = base::split(line, ' ');
        constexpr std::size_t device_field = 2;
        return fields.size() > device_field && fields[device_field] == number;
    });
}

} // namespace gpucontainer::mount
