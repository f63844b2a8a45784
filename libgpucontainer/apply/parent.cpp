// SPDX-License-Identifier: MIT
#include "apply/parent.hpp"

#include "apply/attach.hpp"
#include "base/file_time.hpp"
#include "base/in_root.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace gpucontainer::apply {
namespace {

FileMark mark_of(const struct stat& status) noexcept
{
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            base::to_nanoseconds(status.st_mtim)};
}

} // namespace

bool look_at(int directory, const char* name, FileMark& mark) noexcept
{
    mark = {};
    struct stat status = {};
    if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT;
    mark = mark_of(status);
    return true;
}

bool look_at(int file, FileMark& mark) noexcept
{
    struct stat status = {};
    if (::fstat(file, &status) != 0)
        return false;
    mark = mark_of(status);
    return true;
}

bool same_file(const FileMark& left, const FileMark& right) noexcept
{
    return left.inode == right.inode && (left.inode == 0 || left.device == right.device);
}

bool is_ours(const Operation& operation, const FileMark& now) noexcept
{
    const FileMark& made = operation.made;
    if (made.inode == 0 || !same_file(now, made))
        return false;
    return operation.step == Step::make_directory
           || (now.size == made.size && now.mtime_ns == made.mtime_ns);
}

KeptName::KeptName(const char* name) noexcept
{
    const int length = std::snprintf(text_.data(), text_.size(), "%s%s", kept_prefix, name);
    fits_ = length > 0 && static_cast<std::size_t>(length) < text_.size();
}

bool is_special(int fd) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return true;
    return status.f_type == PROC_SUPER_MAGIC || status.f_type == SYSFS_MAGIC
           || status.f_type == CGROUP_SUPER_MAGIC || status.f_type == CGROUP2_SUPER_MAGIC;
}

bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    // Down to the directory, or to where it is no longer to be seen.
    std::array<char, PATH_MAX> path = {};
    const int length = std::snprintf(path.data(), path.size(), "%s", program.text(operation.path));
    if (length <= 0 || static_cast<std::size_t>(length) >= path.size())
        return false;
    base::UniqueFd directory;
    while (!directory) {
        char* const slash = std::strrchr(path.data(), '/');
        if (slash == nullptr || slash == path.data())
            return false; // the root itself
        *slash = '\0';
        directory.reset(base::open_in_root(rootfs_fd, path.data(), O_PATH | O_DIRECTORY));
        if (!directory && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            return true;
    }
    // A file system below the root may have been mounted anew, without the name.
    FileMark root = {};
    FileMark found = {};
    if (!look_at(rootfs_fd, root) || !look_at(directory.get(), found))
        return true;
    errno = EBUSY;
    return operation.made.device == root.device && found.device != root.device;
}

Parent::Parent(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    const char* const path = program.text(operation.path);
    const char* const slash = std::strrchr(path, '/');
    name_ = slash + 1;
    const auto length = static_cast<std::size_t>(slash - path);
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return;
    }
    std::array<char, PATH_MAX> directory = {};
    std::memcpy(directory.data(), length == 0 ? "/" : path, length == 0 ? 1 : length);
    fd_.reset(base::open_in_root(rootfs_fd, directory.data(), O_PATH | O_DIRECTORY));
}

bool Parent::give_mtime(std::int64_t time) const noexcept
{
    // What is refused for good is refused again.
    return set_mtime(time) || set_mtime(time) || errno == EPERM || errno == EACCES
           || errno == ENOSYS || errno == EOPNOTSUPP;
}

bool Parent::set_mtime(std::int64_t time) const noexcept
{
    const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, base::to_timespec(time)};
    return ::utimensat(fd(), ".", times.data(), 0) == 0;
}

} // namespace gpucontainer::apply
