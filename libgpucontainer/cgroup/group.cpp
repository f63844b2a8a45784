// SPDX-License-Identifier: MIT
#include "cgroup/group.hpp"

#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <linux/magic.h>
#include <span>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

using base::UniqueFd;

constexpr std::size_t most_text = 16U << 20U; // enough for the largest number of processes

/// Where systems usually mount the hierarchies. Others are not looked for, because reading a mount
/// table may take longer than a whole set-up.
constexpr std::array unified_places = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
constexpr std::array device_places = {"/sys/fs/cgroup/devices"};

bool is_of(Version version, int fd) noexcept
{
    struct statfs status = {};
    return ::fstatfs(fd, &status) == 0
           && status.f_type
                  == (version == Version::unified ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

Error unknown(const std::string& why) { return {Errc::requirement, why}; }

Result<UniqueFd> open_hierarchy(Version version)
{
    const bool unified = version == Version::unified;
    const auto places = unified ? std::span<const char* const>(unified_places)
                                : std::span<const char* const>(device_places);
    for (const char* const place : places) {
        UniqueFd fd(::open(place, O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (fd && is_of(version, fd.get()))
            return fd;
    }
    return unknown(unified ? "the hierarchy of cgroup version 2 is not mounted at /sys/fs/cgroup"
                           : "the device cgroups are not mounted at /sys/fs/cgroup/devices");
}

/// Opens a group by the file handle of its directory, made from its number (FILEID_INO32_GEN). All
/// kernels whose kernfs has handles (Linux 4.14) accept it.
UniqueFd open_by_number(int hierarchy, std::uint64_t inode) noexcept
{
    struct {
        unsigned size;
        int type;
        std::uint32_t low;
        std::uint32_t high;
    } handle = {2 * sizeof(std::uint32_t), 1, static_cast<std::uint32_t>(inode),
                static_cast<std::uint32_t>(inode >> 32U)};
    const UniqueFd any(::openat(hierarchy, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return UniqueFd(any ? ::open_by_handle_at(any.get(), reinterpret_cast<file_handle*>(&handle),
                                              O_PATH | O_DIRECTORY | O_CLOEXEC)
                        : -1);
}

bool is_missing(int os_error) noexcept
{
    return os_error == ENOENT || os_error == ENOTDIR || os_error == ESTALE;
}

bool has_line(const std::string& text, std::string_view wanted)
{
    const auto lines = base::split(text, '\n');
    return std::ranges::find(lines, wanted) != lines.end();
}

} // namespace

Result<Group> Group::open(Version version, const std::string& path)
{
    const auto names = base::split(path, '/');
    if (!path.starts_with('/') || std::ranges::find(names, "..") != names.end())
        return unknown("its cgroup is outside of this process's cgroup namespace");
    GPUCTR_TRY(const UniqueFd hierarchy, open_hierarchy(version));
    const std::string below = path == "/" ? "." : path.substr(1);
    UniqueFd directory(
        base::open_beneath(hierarchy.get(), below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        return Error::from_errno(errno, "its cgroup " + path, Errc::requirement).with_object(path);
    if (!is_of(version, directory.get()))
        return unknown("its cgroup " + path + ": something else is mounted there");
    return Group(std::move(directory), path);
}

Result<Group> Group::of_process(Version version, const std::string& path, std::string_view process)
{
    GPUCTR_TRY(Group group, open(version, path));
    // The mount may have another root than the path begins at.
    auto processes = base::read_file(group.fd(), "cgroup.procs", most_text);
    if (!processes && processes.error().os_error() == EOPNOTSUPP) // of a threaded group
        processes = base::read_file(group.fd(), "cgroup.threads", most_text);
    if (!processes)
        return Error::from_errno(processes.error().os_error(), "the processes of cgroup " + path,
                                 Errc::requirement)
            .with_object(path);
    if (!has_line(*processes, process))
        return unknown("the process is not in cgroup " + path + " as it is seen from here");
    return group;
}

Result<std::optional<Group>> Group::find(Version version, const std::string& path,
                                         const GroupId& id)
{
    GPUCTR_TRY(const UniqueFd hierarchy, open_hierarchy(version));
    auto at_path = open(version, path);
    if (at_path && at_path->is(id))
        return std::optional(*std::move(at_path));
    // It was renamed, or a mount hides it.
    Group group(open_by_number(hierarchy.get(), id.inode), path);
    if (group.directory_ && group.is(id))
        return std::optional(std::move(group));
    // Without the privilege to open by handle, only the path is left.
    const bool known = group.directory_ || is_missing(errno);
    if (!known && !at_path && !is_missing(at_path.error().os_error()))
        return std::move(at_path).error();
    return std::optional<Group>();
}

bool Group::is(const GroupId& wanted) const
{
    const auto own = id();
    return own && *own == wanted;
}

Result<GroupId> Group::id() const
{
    struct stat status = {};
    if (::fstat(directory_.get(), &status) != 0)
        return Error::from_errno(errno, "cgroup " + path_, Errc::requirement);
    return GroupId{status.st_dev, status.st_ino};
}

std::optional<Group> Group::near(const char* name, std::string path) const
{
    UniqueFd fd(::openat(directory_.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
    // Above the topmost one is the directory that it is mounted in.
    if (!fd || !is_of(Version::unified, fd.get()))
        return std::nullopt;
    return Group(std::move(fd), std::move(path));
}

std::optional<Group> Group::above() const
{
    const std::size_t end = path_.rfind('/');
    if (path_ == "/" || end == std::string::npos)
        return std::nullopt;
    return near("..", end == 0 ? "/" : path_.substr(0, end));
}

bool Group::holds_one_group_alone() const
{
    const auto processes = base::read_file(directory_.get(), "cgroup.procs", most_text);
    UniqueFd fd(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status = {};
    // A directory has a link of each one in it, and two of its own.
    constexpr nlink_t links = 3;
    return processes && processes->empty() && fd && ::fstat(fd.get(), &status) == 0
           && status.st_nlink == links;
}

bool Group::is_frozen() const
{
    const auto events = base::read_file(directory_.get(), "cgroup.events");
    return events && has_line(*events, "frozen 1");
}

Result<DeviceList> Group::device_list() const
{
    const auto text = base::read_file(directory_.get(), "devices.list");
    if (!text)
        return Error::from_errno(text.error().os_error(), "devices.list of cgroup " + path_,
                                 Errc::requirement)
            .with_object(path_);
    auto list = parse_device_list(*text);
    if (!list)
        return unknown("devices.list of cgroup " + path_ + ": not as the kernel writes it");
    return *std::move(list);
}

Result<void> Group::allow(const DeviceNumber& device, Access access) const
{
    return write("devices.allow", to_text(device, access));
}

Result<void> Group::deny(const DeviceNumber& device, Access access) const
{
    return write("devices.deny", to_text(device, access));
}

Result<void> Group::write(const char* file, const std::string& text) const
{
    const UniqueFd opened(::openat(directory_.get(), file, O_WRONLY | O_CLOEXEC));
    ssize_t written = -1;
    do // a write takes effect as a whole, or not at all
        written = opened ? ::write(opened.get(), text.data(), text.size()) : -1;
    while (written < 0 && errno == EINTR);
    if (written == std::ssize(text))
        return {};
    return Error::from_errno(errno, file + (" of cgroup " + path_) + ": " + text, Errc::apply)
        .with_object(path_);
}

} // namespace gpucontainer::cgroup
