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
    if (mount::is_mount_root(rootfs_fd) && mount::sharing(rootfs_fd) == mount::Sharing::isolated)
        return place;
    place.bind_.reset(mount::clone_tree(bench, rootfs_fd, "", true));
    // On a stage it is seen by the group that the root is of, and would get a copy of
    // itself when it comes to lie there.
    const bool alone =
        place.bind_
        && (bench.stage < 0
            || mount::set_attributes(bench, place.bind_.get(), 0, MS_PRIVATE, true) == 0);
    if (!alone)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::apply)
            .with_hint("CAP_SYS_ADMIN is needed in the user namespace that owns the mount "
                       "namespace");
    return place;
}

Result<void> Place::enter() const
{
    if (!bind_)
        return {};
    if (mount::attach(bench_, bind_.get(), rootfs_fd_) != 0)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::rootfs);
    if (mount::set_attributes(bench_, bind_.get(), 0, MS_PRIVATE, true) == 0)
        return {};
    Error error = Error::from_errno(errno, "make the root file system private", Errc::apply);
    leave();
    return error;
}

void Place::leave() const
{
    if (bind_)
        (void)mount::detach(bind_.get());
}

} // namespace gpucontainer::apply
