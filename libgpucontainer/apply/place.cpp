// SPDX-License-Identifier: MIT
#include "apply/place.hpp"

#include "mount/calls.hpp"

#include <cerrno>
#include <sys/mount.h>

namespace gpucontainer::apply {

Result<Place> Place::of_process(const mount::Bench& bench, int rootfs_fd, int table)
{
    if (mount::sharing(rootfs_fd, table) == mount::Sharing::shared)
        return Error(Errc::rootfs, "the root of the process is on a shared mount")
            .with_hint("what is mounted there would show in other namespaces too; make it private "
                       "in the container (mount --make-private /)");
    return Place(bench, rootfs_fd);
}

Result<Place> Place::of_directory(mount::Bench& bench, int rootfs_fd)
{
    Place place(bench, rootfs_fd);
    const mount::Found mounted = mount::find_mount_root(rootfs_fd);
    if (mounted == mount::Found::unknown)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);
    if (mounted == mount::Found::yes && mount::sharing(rootfs_fd) == mount::Sharing::isolated)
        return place;
    // Otherwise, unmounting it would unmount the originals of what is below it.
    place.bind_.reset(mount::clone_private(bench, rootfs_fd));
    if (!place.bind_)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::apply)
            .with_hint(errno == EINVAL ? "its mount is gone meanwhile; try again"
                                       : "CAP_SYS_ADMIN is needed in the user namespace that "
                                         "owns the mount namespace");
    return place;
}

Result<void> Place::enter()
{
    if (!bind_)
        return {};
    if (mount::attach(bench_, bind_.get(), rootfs_fd_) != 0)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::rootfs);
    entered_ = true;
    // On a shared mount it became shared.
    if (mount::set_attributes(bench_, bind_.get(), 0, MS_PRIVATE, true) != 0)
        return Error::from_errno(errno, "make the root file system private", Errc::apply);
    return {};
}

bool Place::leave() const
{
    if (!entered_)
        return true;
    const std::uint64_t id = mount::mount_id(bind_.get());
    return mount::detach_uncovered(bind_.get()) == 0 && !mount::exists(id);
}

} // namespace gpucontainer::apply
