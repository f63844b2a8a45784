// SPDX-License-Identifier: MIT
#include "apply/origin.hpp"

#include "base/file.hpp"
#include "base/file_time.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace gpucontainer::apply {

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
    // A directory on an overlay is born again when it is copied up.
    if ((root.stx_mask & STATX_BTIME) != 0 && !mount::is_overlay(rootfs_fd))
        id.birth_ns = base::to_nanoseconds(root.stx_btime.tv_sec, root.stx_btime.tv_nsec);
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

} // namespace gpucontainer::apply
