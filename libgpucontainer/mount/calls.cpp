// SPDX-License-Identifier: MIT
#include "mount/calls.hpp"

#include "base/unique_fd.hpp"
#include "mount/fd_path.hpp"
#include "mount/legacy.hpp"
#include "mount/statmount.hpp"
#include "mount/uppermost.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

bool status_of(int fd, unsigned mask, struct statx& status) noexcept
{
    return ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &status) == 0;
}

/// SELinux's option for a label that all files of the file system have.
int set_label(int context, const char* label) noexcept
{
    if (label == nullptr || *label == '\0')
        return 0;
    return ::fsconfig(context, FSCONFIG_SET_STRING, "context", label, 0);
}

Found find_type(int fd, long one, long other) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return Found::unknown;
    return status.f_type == one || status.f_type == other ? Found::yes : Found::no;
}

} // namespace

int clone_tree(Bench& bench, int dir_fd, const char* path, bool recursive) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::bind(bench, dir_fd, path, recursive);
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
    if (*path == '\0')
        flags |= AT_EMPTY_PATH;
    if (recursive)
        flags |= AT_RECURSIVE;
    return base::above_standard(::open_tree(dir_fd, path, flags));
}

int clone_private(Bench& bench, int fd) noexcept
{
    if (bench.backend == Backend::detached) {
        mount_attr change = {};
        change.propagation = MS_PRIVATE;
        const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE;
        return base::above_standard(static_cast<int>(
            ::syscall(open_tree_attr_number, fd, "", flags, &change, sizeof change)));
    }
    base::UniqueFd clone(clone_tree(bench, fd, "", true));
    if (clone && set_attributes(bench, clone.get(), 0, MS_PRIVATE, true) != 0)
        return -1;
    return clone.release();
}

int attach(const Bench& bench, int tree_fd, int target_fd) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::move(tree_fd, target_fd);
    return ::move_mount(tree_fd, "", target_fd, "",
                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int attach_below(const Bench& bench, int tree_fd, int base_fd, const char* path) noexcept
{
    if (bench.backend != Backend::legacy)
        return ::move_mount(tree_fd, "", base_fd, path, MOVE_MOUNT_F_EMPTY_PATH);
    const base::UniqueFd target(::openat(base_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return target ? legacy::move(tree_fd, target.get()) : -1;
}

int bind_below(const Bench& bench, int source_fd, int base_fd, const char* path) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::bind_below(source_fd, base_fd, path);
    Bench own = bench;
    base::UniqueFd copy(clone_tree(own, source_fd, "", true));
    return copy && attach_below(bench, copy.get(), base_fd, path) == 0 ? copy.release() : -1;
}

int set_attributes(const Bench& bench, int tree_fd, std::uint64_t attributes,
                   std::uint64_t propagation, bool recursive) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::change(tree_fd, attributes, propagation, recursive);
    mount_attr change = {};
    change.attr_set = attributes;
    change.propagation = propagation;
    const unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);
    return ::mount_setattr(tree_fd, "", flags, &change, sizeof change);
}

int new_tmpfs(Bench& bench, const char* label) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::mount(bench, "tmpfs", 0, "mode=0755", label);
    const base::UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "mode", "0755", 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
}

int make_read_only(int fd) noexcept
{
    const base::UniqueFd context(::fspick(fd, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH));
    if (!context || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) != 0)
        return -1;
    return ::fsconfig(context.get(), FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0);
}

int new_overlay(Bench& bench, int upper_fd, int lower_fd, std::uint64_t attributes,
                const char* label) noexcept
{
    if (bench.backend == Backend::legacy)
        return legacy::overlay(bench, upper_fd, lower_fd, attributes, label);
    const base::UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
    if (!context)
        return -1;
    std::array<char, 80> layers = {};
    (void)std::snprintf(layers.data(), layers.size(), "%s:%s",
                        static_cast<const char*>(FdPath(upper_fd)),
                        static_cast<const char*>(FdPath(lower_fd)));
    // userxattr keeps trusted.overlay.* out of it, which a user namespace could
    // not read and which only an image could have brought.
    if (::fsconfig(context.get(), FSCONFIG_SET_STRING, "source", mount_source, 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_STRING, "lowerdir", layers.data(), 0) != 0
        || ::fsconfig(context.get(), FSCONFIG_SET_FLAG, "userxattr", nullptr, 0) != 0
        || set_label(context.get(), label) != 0
        || ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return -1;
    return base::above_standard(
        ::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
}

int detach(int fd) noexcept { return ::umount2(FdPath(fd), MNT_DETACH); }

int detach_uncovered(int fd) noexcept
{
    const base::UniqueFd uppermost(open_uppermost(fd));
    std::uint64_t found = 0;
    std::uint64_t wanted = 0;
    if (uppermost && (!table_id(uppermost.get(), found) || !table_id(fd, wanted)))
        return -1;
    errno = EBUSY;
    return uppermost && found == wanted ? detach(fd) : -1;
}

std::uint64_t mount_id(int fd) noexcept
{
    std::uint64_t id = 0;
    if (has_statmount()) {
        if (unique_id(fd, id))
            return id;
        if (errno != EXDEV)
            return 0; // not to give the mount another identity than it has
    }
    return table_id(fd, id) ? id : 0;
}

bool is_on(int fd, std::uint64_t mount_id) noexcept
{
    std::uint64_t id = 0;
    const bool told = is_unique(mount_id) ? unique_id(fd, id) : table_id(fd, id);
    return told && id == mount_id;
}

std::uint64_t table_number(std::uint64_t mount_id) noexcept
{
    MountStatus status;
    if (!is_unique(mount_id))
        return mount_id;
    return statmount(mount_id, statmount_mount_basic, status) ? status.old_mount_id : 0;
}

bool exists(std::uint64_t mount_id, int table) noexcept
{
    if (!is_unique(mount_id))
        return look_up(mount_id, table).found != Found::no;
    MountStatus status;
    return statmount(mount_id, statmount_mount_basic, status) || errno != ENOENT;
}

Found find_mount_root(int fd) noexcept
{
    struct statx status = {};
    if (!status_of(fd, STATX_BASIC_STATS, status))
        return Found::unknown;
    if ((status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
        return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? Found::yes : Found::no;
    return find_mount_root_by_table(fd);
}

bool read_flags(int fd, std::uint64_t& flags) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return false;
    flags = static_cast<std::uint64_t>(status.f_flags);
    return true;
}

Found find_overlay(int fd) noexcept
{
    return find_type(fd, OVERLAYFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC);
}
Found find_tmpfs(int fd) noexcept { return find_type(fd, TMPFS_MAGIC, RAMFS_MAGIC); }

Sharing sharing(int fd, int table) noexcept
{
    std::uint64_t id = 0;
    MountStatus status;
    if (unique_id(fd, id) && statmount(id, statmount_mount_basic, status))
        return (status.propagation & MS_SHARED) != 0 ? Sharing::shared : Sharing::isolated;
    const Lookup mount = table_id(fd, id) ? look_up(id, table) : Lookup();
    if (mount.found != Found::yes)
        return Sharing::unknown;
    return mount.shared ? Sharing::shared : Sharing::isolated;
}

} // namespace gpucontainer::mount
