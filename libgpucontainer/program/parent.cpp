// SPDX-License-Identifier: MIT
#include "program/parent.hpp"

#include "base/file_time.hpp"
#include "base/in_root.hpp"
#include "mount/facts.hpp"
#include "mount/statmount.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>

namespace gpucontainer::program {
namespace {

FileMark mark_of(const struct stat& status) noexcept
{
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
            base::to_nanoseconds(status.st_mtim)};
}

/// The operation that made the directory of another one; null if that existed before.
const Operation* maker_of(const Program& program, const Operation& operation) noexcept
{
    const std::string_view path = program.text(operation.path);
    const std::string_view directory = path.substr(0, path.rfind('/'));
    for (const Operation& other : program.operations())
        if (other.step == Step::make_directory && directory == program.text(other.path))
            return &other;
    return nullptr;
}

/// The mount on which the operation's name must be: that of its directory, or of the directory in
/// which its directory was made.
std::uint64_t mount_of(const Program& program, const Operation& operation) noexcept
{
    const Operation* known = &operation;
    while (known != nullptr && known->parent_mount == 0)
        known = maker_of(program, *known);
    return known != nullptr ? known->parent_mount : 0;
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

bool is_hidden(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    // Go down to the directory, or to where it is no longer visible.
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
    // A file system below the root may have been mounted again, without the name.
    FileMark root = {};
    FileMark found = {};
    if (!look_at(rootfs_fd, root) || !look_at(directory.get(), found))
        return true;
    errno = EBUSY;
    return operation.made.device == root.device && found.device != root.device;
}

Parent Parent::at_path(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    Parent parent;
    const char* const path = program.text(operation.path);
    const char* const slash = std::strrchr(path, '/');
    parent.name_ = slash + 1;
    const auto length = static_cast<std::size_t>(slash - path);
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return parent;
    }
    std::array<char, PATH_MAX> directory = {};
    std::memcpy(directory.data(), length == 0 ? "/" : path, length == 0 ? 1 : length);
    parent.fd_.reset(base::open_in_root(rootfs_fd, directory.data(), O_PATH | O_DIRECTORY));
    return parent;
}

Parent Parent::known(const Program& program, const Operation& operation, int rootfs_fd,
                     int table) noexcept
{
    Parent parent = at_path(program, operation, rootfs_fd);
    if (parent)
        parent.prove(program, operation, table);
    // An unknown directory must be in the right one.
    const Operation* const maker =
        parent && operation.parent_inode == 0 ? maker_of(program, operation) : nullptr;
    if (maker != nullptr && maker->made.inode == 0) {
        const Parent above = known(program, *maker, rootfs_fd, table);
        const int reason = errno;
        if (!above)
            parent.fd_.reset();
        errno = reason;
    }
    return parent;
}

Parent Parent::to_make_in(const Program& program, const Operation& operation,
                          int rootfs_fd) noexcept
{
    Parent parent = at_path(program, operation, rootfs_fd);
    FileMark found = {};
    const FileMark wanted = directory_of(program, operation);
    if (!parent || wanted.inode == 0 || (parent.look(found) && same_file(found, wanted)))
        return parent;
    parent.fd_.reset();
    errno = ESTALE;
    return parent;
}

FileMark Parent::directory_of(const Program& program, const Operation& operation) noexcept
{
    if (operation.parent_inode != 0)
        return {operation.parent_device, operation.parent_inode, 0, 0};
    const Operation* const maker = maker_of(program, operation);
    return maker != nullptr ? maker->made : FileMark();
}

void Parent::prove(const Program& program, const Operation& operation, int table) noexcept
{
    FileMark found = {};
    if (!look(found)) {
        const int reason = errno;
        fd_.reset();
        errno = reason;
        return;
    }
    const FileMark wanted = directory_of(program, operation);
    const bool same = wanted.inode == 0 || same_file(found, wanted);
    const std::uint64_t mount = mount_of(program, operation);
    if (same && (mount == 0 || mount::is_on(fd(), mount)))
        return;
    // If the mount is gone, what was below it is visible again. The kernel reuses identities of the
    // mount table, so an existing one may belong to another mount.
    const bool hidden = mount != 0 && !mount::is_on(fd(), mount) && mount::exists(mount, table);
    if (same && (!hidden || (!mount::is_unique(mount) && wanted.inode != 0)))
        return;
    fd_.reset();
    errno = hidden ? EBUSY : ESTALE;
}

bool Parent::is_gone(int os_error) noexcept
{
    return os_error == ENOENT || os_error == ENOTDIR || os_error == ELOOP || os_error == ESTALE;
}

bool Parent::note(Operation& operation, const FileMark& directory) const noexcept
{
    if (operation.parent_mount == 0 || !mount::is_on(fd(), operation.parent_mount))
        operation.parent_mount = mount::mount_id(fd());
    operation.parent_device = directory.device;
    operation.parent_inode = directory.inode;
    return operation.parent_mount != 0;
}

bool Parent::note(Operation& operation) const noexcept
{
    FileMark directory = {};
    return look(directory) && note(operation, directory);
}

bool Parent::is_covered() const noexcept
{
    struct statx status = {};
    if (::statx(fd(), name(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_INO, &status) != 0)
        return false;
    if ((status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
        return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    // Before Linux 5.8.
    const base::UniqueFd found(::openat(fd(), name(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return found && mount::mount_id(found.get()) != mount::mount_id(fd());
}

bool Parent::give_mtime(std::int64_t time) const noexcept
{
    // A lasting refusal happens twice.
    return set_mtime(time) || set_mtime(time) || errno == EPERM || errno == EACCES
           || errno == ENOSYS || errno == EOPNOTSUPP;
}

bool Parent::set_mtime(std::int64_t time) const noexcept
{
    const std::array<timespec, 2> times = {timespec{0, UTIME_OMIT}, base::to_timespec(time)};
    return ::utimensat(fd(), ".", times.data(), 0) == 0;
}

} // namespace gpucontainer::program
