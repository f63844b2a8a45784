// SPDX-License-Identifier: MIT
#include "journal/origin.hpp"

#include "base/file.hpp"
#include "base/file_time.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/facts.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

namespace gpucontainer::journal {
namespace {

/// The subvolume, from a file handle of btrfs: inode, subvolume, generation of the inode. 0 if
/// unknown. In the id of statfs() it is mixed with that of the file system.
std::uint64_t subvolume_of(int fd)
{
    constexpr int of_btrfs = 0x4d; // FILEID_BTRFS_WITHOUT_PARENT
    struct Handle {
        unsigned size = sizeof bytes;
        int type = 0;
        std::array<std::uint32_t, MAX_HANDLE_SZ / sizeof(std::uint32_t)> bytes = {};
    } handle;
    int mount = 0;
    auto* const written = reinterpret_cast<file_handle*>(&handle);
    if (::name_to_handle_at(fd, "", written, &mount, AT_EMPTY_PATH) != 0 || handle.type != of_btrfs)
        return 0;
    std::uint64_t subvolume = 0;
    std::memcpy(&subvolume, &handle.bytes[2], sizeof subvolume);
    return subvolume;
}

} // namespace

bool is_anonymous(std::uint64_t device) noexcept { return major(device) == 0; }

Result<RootId> RootId::of(int rootfs_fd)
{
    struct statx root = {};
    if (::statx(rootfs_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_BTIME,
                &root)
        != 0)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);
    RootId id;
    id.device = ::makedev(root.stx_dev_major, root.stx_dev_minor);
    id.inode = root.stx_ino;
    if ((root.stx_mask & STATX_BTIME) != 0)
        id.birth_ns = base::to_nanoseconds(root.stx_btime.tv_sec, root.stx_btime.tv_nsec);
    if (!is_anonymous(id.device))
        return id;
    struct statfs file_system = {};
    if (::fstatfs(rootfs_fd, &file_system) != 0)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);
    id.renumbered = file_system.f_type != TMPFS_MAGIC && file_system.f_type != RAMFS_MAGIC;
    // A directory on an overlay gets a new birth time when it is copied up.
    if (file_system.f_type == OVERLAYFS_SUPER_MAGIC)
        id.birth_ns = 0;
    if (file_system.f_type == BTRFS_SUPER_MAGIC)
        id.subvolume = subvolume_of(rootfs_fd);
    return id;
}

Result<Viewpoint> Viewpoint::current()
{
    Viewpoint here;
    here.mount_namespace = mount::current_namespace_id();
    if (here.mount_namespace == 0)
        return Error::from_errno(errno, "look at this mount namespace", Errc::apply)
            .with_hint("/proc must be mounted");
    GPUCTR_TRY(const std::string boot_id, base::read_file("/proc/sys/kernel/random/boot_id"));
    here.boot_id = base::trim(boot_id);
    return here;
}

Result<bool> is_seen_on(int rootfs_fd, std::uint64_t mount_id)
{
    errno = 0;
    if (mount::is_on(rootfs_fd, mount_id))
        return true;
    if (errno != 0 && errno != EXDEV)
        return Error::from_errno(errno, "look at the root file system", Errc::apply);
    return false;
}

Result<Origin> origin_of(const SetUpKey& key, const Viewpoint& here,
                         mount::LivingNamespaces& living, int rootfs_fd, int table)
{
    if (key.from.boot_id != here.boot_id)
        return Origin::earlier_boot;
    if (key.from.mount_namespace != here.mount_namespace)
        return living.contains(key.from.mount_namespace) ? Origin::elsewhere
                                                         : Origin::namespace_end;
    bool seen_here = false;
    if (rootfs_fd >= 0) {
        GPUCTR_TRY(seen_here, is_seen_on(rootfs_fd, key.mount_id));
    }
    return seen_here || !mount::exists(key.mount_id, table) ? Origin::here : Origin::another_mount;
}

} // namespace gpucontainer::journal
