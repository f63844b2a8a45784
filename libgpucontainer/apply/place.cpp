// SPDX-License-Identifier: MIT
#include "apply/place.hpp"

#include "mount/aside.hpp"
#include "mount/calls.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"

#include <cerrno>
#include <sys/mount.h>

namespace gpucontainer::apply {
namespace {

const char* why_no_bind(bool from_copy, int os_error)
{
    if (os_error == EXDEV)
        return mount::why_out_of_reach;
    if (os_error != EINVAL)
        return "CAP_SYS_ADMIN is needed in the user namespace that owns the mount namespace";
    return from_copy ? "its mount is gone meanwhile; try again"
                     : "the mount that it is on is unbindable, or gone meanwhile";
}

} // namespace

Result<Place> Place::of_process(const mount::Bench& bench, int rootfs_fd, int table)
{
    if (mount::sharing(rootfs_fd, table) == mount::Sharing::shared)
        return Error(Errc::rootfs, "the root of the process is on a shared mount")
            .with_hint(
                "what is mounted there would show in other namespaces too; make it and all "
                "that is mounted below it private in the container (mount --make-rprivate /)");
    return Place(bench, rootfs_fd);
}

Result<Place> Place::of_directory(const mount::Bench& bench, int rootfs_fd)
{
    Place place(bench, rootfs_fd);
    const mount::Found mounted = mount::find_mount_root(rootfs_fd);
    if (mounted == mount::Found::unknown)
        return Error::from_errno(errno, "look at the root file system", Errc::rootfs);
    if (mounted == mount::Found::yes && mount::sharing(rootfs_fd) == mount::Sharing::isolated)
        return place;
    // Otherwise, unmounting it would propagate to the original mounts below.
    place.bind_.reset(mount::clone_private(bench, rootfs_fd));
    const bool from_copy = mount::way_of(bench.backend).from_copy;
    // The mount is unbindable, or gone meanwhile.
    if (!place.bind_ && errno == EINVAL && from_copy)
        place.bind_.reset(mount::clone_private_aside(bench, rootfs_fd));
    if (!place.bind_)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::apply)
            .with_hint(why_no_bind(from_copy, errno));
    return place;
}

Result<void> Place::enter()
{
    if (!bind_)
        return {};
    if (mount::attach(bench_, bind_.get(), rootfs_fd_) != 0)
        return Error::from_errno(errno, "bind the root file system on itself", Errc::rootfs);
    entered_ = true;
    // On a shared mount, it became shared.
    if (mount::set_attributes(bench_, bind_.get(), 0, MS_PRIVATE, true) != 0)
        return Error::from_errno(errno, "make the root file system private", Errc::apply);
    below_ = mount::look_below(bind_.get());
    if (below_.count < 0 && errno != EXDEV)
        return Error::from_errno(errno, "count what is mounted below", Errc::apply);
    return {};
}

bool Place::leave() const
{
    if (!entered_)
        return true;
    // If somebody else made a set-up over the root at the same time, it was copied with the bind
    // mount and covers it. Unmount that first.
    constexpr int most = 8;
    const std::uint64_t id = mount::mount_id(bind_.get());
    for (int tries = 0; tries < most; ++tries) {
        const mount::Below now = mount::look_below(bind_.get());
        const bool came_along =
            now.count > 0 && now.count <= below_.count && now.newest <= below_.newest;
        const int failed =
            came_along ? mount::detach(bind_.get()) : mount::detach_uncovered(bind_.get());
        if (failed != 0)
            return false;
        if (!mount::exists(id))
            return true;
    }
    return false;
}

} // namespace gpucontainer::apply
