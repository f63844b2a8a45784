// SPDX-License-Identifier: MIT
#include "mounts.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t max_mount_table = 64U << 20U;

Error failed(std::string_view what, const std::string& object)
{
    return Error::from_errno(errno, base::format("{} {}", what, object), Errc::apply);
}

Result<void> write_proc(const char* path, const std::string& text)
{
    const base::UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
    if (!file || ::write(file.get(), text.data(), text.size()) < 0)
        return failed("write", path);
    return {};
}

/// Undoes the octal escapes of a mount table.
std::string without_escapes(std::string_view text)
{
    constexpr std::size_t length = 4; // "\040"
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + length <= text.size()) {
            const auto digit = [&](std::size_t at) {
                return static_cast<unsigned>(text[at] - '0');
            };
            plain += static_cast<char>(digit(i + 1) * 64 + digit(i + 2) * 8 + digit(i + 3));
            i += length - 1;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/// Mount points below a directory, outermost first.
Result<std::vector<std::string>> mount_points_below(const std::string& directory)
{
    constexpr std::size_t mount_point = 4; // field of proc_pid_mountinfo(5), from 0
    GPUCTR_TRY(const auto table, base::read_file("/proc/self/mountinfo", max_mount_table));
    std::vector<std::string> points;
    for (const std::string_view line : base::split(table, '\n')) {
        const auto fields = base::split(line, ' ');
        if (fields.size() <= mount_point)
            continue;
        std::string path = without_escapes(fields[mount_point]);
        if (path != directory && base::is_below(path, directory))
            points.push_back(std::move(path));
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
}

struct KeptMount {
    std::string path;
    base::UniqueFd mount;
};

/// Copies of what is mounted below `target` where `upper` has no such path.
Result<std::vector<KeptMount>> keep_mounts(const std::string& upper, const std::string& target)
{
    GPUCTR_TRY(const auto points, mount_points_below(target));
    std::vector<KeptMount> kept;
    for (const std::string& point : points) {
        const bool is_inside_kept = !kept.empty() && base::is_below(point, kept.back().path);
        const std::string in_upper = upper + point.substr(target.size());
        if (is_inside_kept
            || ::faccessat(AT_FDCWD, in_upper.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        GPUCTR_TRY(auto mount, clone_mount(AT_FDCWD, point, BindKind::recursive));
        kept.push_back({point, std::move(mount)});
    }
    return kept;
}

Result<void> make_private()
{
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return failed("make private", "/");
    return {};
}

/// Makes a mount of a directory that chroot() made the root directory.
Result<void> leave_chroot()
{
    GPUCTR_TRY(const auto root, clone_mount(AT_FDCWD, "/", BindKind::recursive));
    const base::UniqueFd own(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
    if (!own || ::setns(own.get(), CLONE_NEWNS) != 0) // which enters the namespace's own root
        return failed("leave", "the root directory that chroot made (/proc has to be mounted)");
    GPUCTR_CHECK(make_private());
    GPUCTR_CHECK(attach_mount(root.get(), AT_FDCWD, "/"));
    if (::fchdir(root.get()) != 0)
        return failed("enter", "the root directory");
    return enter_root(".");
}

} // namespace

Result<void> map_identity(uid_t uid, gid_t gid, bool map_root)
{
    GPUCTR_CHECK(write_proc("/proc/self/setgroups", "deny"));
    GPUCTR_CHECK(
        write_proc("/proc/self/uid_map", base::format("{} {} 1", map_root ? 0 : uid, uid)));
    return write_proc("/proc/self/gid_map", base::format("{} {} 1", map_root ? 0 : gid, gid));
}

Result<void> make_mounts_private()
{
    auto made = make_private();
    if (!made && made.error().os_error() == EINVAL) // the root directory is no mount
        return leave_chroot();
    return made;
}

Result<void> enter_root(const std::string& place)
{
    // The first umount2 is of the old root directory, which covers the new one.
    if (::chdir(place.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0
        || ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
        return failed("make the root directory", place);
    return {};
}

Result<void> enter_private_namespace(bool map_root)
{
    const uid_t uid = ::geteuid();
    const gid_t gid = ::getegid();
    if (map_root || ::unshare(CLONE_NEWNS) != 0) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            return failed("create", "a user and mount namespace");
        GPUCTR_CHECK(map_identity(uid, gid, map_root));
    }
    return make_mounts_private();
}

bool in_user_namespace()
{
    const auto map = base::read_file("/proc/self/uid_map");
    if (!map)
        return true;
    auto words = base::split(base::trim(*map), ' ');
    words.erase(std::remove(words.begin(), words.end(), std::string_view()), words.end());
    return words != std::vector<std::string_view>{"0", "0", "4294967295"};
}

Result<void> mount_tmpfs(const std::string& target)
{
    if (::mount("gpuctr-simhost", target.c_str(), "tmpfs", 0, "mode=0755") != 0)
        return failed("mount a tmpfs on", target);
    return {};
}

Result<void> mount_overlay(const std::string& upper, const std::string& target)
{
    GPUCTR_TRY(const auto kept, keep_mounts(upper, target));
    const std::string options =
        base::format("lowerdir={}:{}{}", upper, target, in_user_namespace() ? ",userxattr" : "");
    if (::mount("gpuctr-simhost", target.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0)
        return failed("mount an overlay on", target);
    for (const KeptMount& mount : kept)
        GPUCTR_CHECK(attach_mount(mount.mount.get(), AT_FDCWD, mount.path));
    return {};
}

Result<base::UniqueFd> clone_mount(int dir_fd, const std::string& path, BindKind kind)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW
                           | (kind == BindKind::recursive ? AT_RECURSIVE : 0U);
    base::UniqueFd mount(::open_tree(dir_fd, path.c_str(), flags));
    if (!mount)
        return failed("clone", path);
    return mount;
}

Result<void> attach_mount(int mount, int dir_fd, const std::string& target)
{
    if (::move_mount(mount, "", dir_fd, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return failed("mount on", target);
    return {};
}

Result<void> bind(int dir_fd, const std::string& path, const std::string& target, BindKind kind)
{
    GPUCTR_TRY(const auto mount, clone_mount(dir_fd, path, kind), "bind on {}", target);
    return attach_mount(mount.get(), AT_FDCWD, target);
}

Result<void> make_read_only(int mount)
{
    mount_attr attributes = {};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (::mount_setattr(mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0)
        return {};
    const std::string path = base::format("/proc/self/fd/{}", mount);
    constexpr unsigned long change = MS_REMOUNT | MS_BIND | MS_RDONLY;
    if (errno != ENOSYS || ::mount(nullptr, path.c_str(), nullptr, change, nullptr) != 0)
        return failed("make read-only", "a mount");
    return {};
}

Result<void> restrict_mount(int mount, std::uint64_t attributes)
{
    mount_attr wanted = {};
    wanted.attr_set = attributes;
    if (::mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) != 0)
        return failed("restrict", "a mount (Linux 5.12 or later)");
    return {};
}

Result<void> detach_mount(const std::string& target)
{
    if (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
        return failed("unmount", target);
    return {};
}

} // namespace gpucontainer::simhost
