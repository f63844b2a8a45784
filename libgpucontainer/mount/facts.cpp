// SPDX-License-Identifier: MIT
#include "mount/facts.hpp"

#include "mount/statmount.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace gpucontainer::mount {
namespace {

bool status_of(int fd, unsigned mask, struct statx& status) noexcept
{
    return ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, mask, &status) == 0;
}

Found find_type(int fd, long one, long other) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return Found::unknown;
    return status.f_type == one || status.f_type == other ? Found::yes : Found::no;
}

} // namespace

std::uint64_t mount_id(int fd) noexcept
{
    std::uint64_t id = 0;
    if (has_statmount()) {
        if (unique_id(fd, id))
            return id;
        if (errno != EXDEV)
            return 0; // the mount must not get another identity
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
