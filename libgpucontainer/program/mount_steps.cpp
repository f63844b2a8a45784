// SPDX-License-Identifier: MIT
#include "program/mount_steps.hpp"

#include "base/in_root.hpp"
#include "base/kernel_file_system.hpp"
#include "mount/calls.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"
#include "mount/kernel.hpp"
#include "mount/statmount.hpp"
#include "mount/submounts.hpp"
#include "mount/table.hpp"
#include "program/overlay.hpp"
#include "program/parent.hpp"
#include "syscall/mount_flags.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

namespace gpucontainer::program {

using base::UniqueFd;

namespace {

bool fail(Failure& failure, Errc code, const char* step, const char* object,
          Cause cause = Cause::other) noexcept
{
    failure.os_error = errno;
    failure.code = errno == EPERM || errno == EACCES ? Errc::permission : code;
    failure.step = step;
    failure.object = object;
    failure.cause = cause;
    return false;
}

/// A link of the image may lead anywhere. Nothing may be mounted over the root, where it could not
/// be reached again, or over files of the kernel, except those in /proc that are to be hidden.
bool is_allowed(const char* path, const Operation& operation, int target, int rootfs_fd) noexcept
{
    if ((operation.flags & follow_target) == 0)
        return true;
    struct stat root = {};
    struct stat status = {};
    const bool looked = ::fstat(target, &status) == 0 && ::fstat(rootfs_fd, &root) == 0;
    errno = ELOOP;
    if (!looked || (status.st_ino == root.st_ino && status.st_dev == root.st_dev))
        return false;
    if (!base::is_on_kernel_file_system(target))
        return true;
    if (errno == 0 && std::strncmp(path, "/proc/", std::strlen("/proc/")) == 0
        && base::is_on_procfs(target))
        return true;
    errno = errno != 0 ? errno : ELOOP;
    return false;
}

/// A mount that is attached as it was prepared may be known already.
bool know_mount(Operation& operation, int tree) noexcept
{
    if (operation.step == Step::overlay || operation.mount_id == 0)
        operation.mount_id = mount::mount_id(tree);
    return operation.mount_id != 0;
}

bool fail_to_attach(int target, const char* path, Failure& failure, int table) noexcept
{
    const int reason = errno;
    const bool refused = reason == EINVAL || reason == ENOTDIR || reason == ENOENT;
    const bool is_shared =
        reason == EINVAL && mount::sharing(target, table) == mount::Sharing::shared;
    errno = reason;
    return fail(failure, refused ? Errc::rootfs : Errc::apply,
                is_shared ? "attach to a shared mount, at" : "attach mount at", path,
                is_shared ? Cause::shared_mount : Cause::other);
}

/// An identity of the mount table may be another mount's meanwhile. That shows another file.
bool shows_ours(const Operation& operation, int target) noexcept
{
    if (mount::is_unique(operation.mount_id) || operation.step == Step::overlay
        || operation.made.inode == 0)
        return true;
    FileMark found = {};
    return look_at(target, found) && same_file(found, operation.made);
}

Cause cause_of(mount::AsideStep step) noexcept
{
    switch (step) {
    case mount::AsideStep::list:
        return Cause::listing;
    case mount::AsideStep::copy_namespace:
        return Cause::mount_copied;
    case mount::AsideStep::other:
        break;
    }
    return Cause::other;
}

} // namespace

UniqueFd open_target(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    const std::uint64_t follow = (operation.flags & follow_target) != 0 ? 0 : O_NOFOLLOW;
    return UniqueFd(base::open_in_root(rootfs_fd, program.text(operation.path), O_PATH | follow));
}

bool attach_mount(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                  int table) noexcept
{
    const char* const path = program.text(operation.path);
    const UniqueFd target = open_target(program, operation, rootfs_fd);
    if (!target)
        return fail(failure, Errc::rootfs, "open", path);
    if (!is_allowed(path, operation, target.get(), rootfs_fd))
        return fail(failure, Errc::rootfs, "mount where the link leads, at", path);

    const mount::Bench bench = program.bench();
    mount::Over over;
    int tree = program.fds()[static_cast<std::size_t>(operation.fd)];
    if (operation.step == Step::overlay) {
        over = lay_names(program, bench, operation, target.get(), rootfs_fd);
        if (!over)
            return fail(failure, errno == EINVAL ? Errc::rootfs : Errc::apply, over.failed, path,
                        cause_of(over.step));
        tree = over.mount.get();
    }
    if (!know_mount(operation, tree))
        return fail(failure, Errc::apply, "find the identity of the mount for", path);
    // Trees are unbindable until here, so that the kernel itself refuses to attach one where it
    // would appear in other namespaces.
    if (mount::attach(bench, tree, target.get()) != 0)
        return fail_to_attach(target.get(), path, failure, table);
    operation.done = 1;
    // Mounts in a listing keep receiving what is mounted on their originals.
    if (mount::set_attributes(bench, tree, 0, MS_PRIVATE, !over.lists) != 0)
        return fail(failure, Errc::apply, "make the mount private at", path);
    if (operation.step == Step::overlay && !over.lists
        && mount::carry_submounts(bench, target.get(), tree, table) != 0)
        return fail(failure, Errc::rootfs, "keep visible what is mounted below", path);
    std::uint64_t flags = 0;
    if (!syscall::read_mount_flags(tree, flags)
        || (flags & operation.attributes) != operation.attributes) {
        errno = EIO;
        return fail(failure, Errc::apply, "verify the flags of the mount at", path);
    }
    return true;
}

bool detach_mount(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                  int table) noexcept
{
    const char* const path = program.text(operation.path);
    const UniqueFd target = open_target(program, operation, rootfs_fd);
    const bool ours = target && mount::is_mount_root(target.get())
                      && mount::is_on(target.get(), operation.mount_id)
                      && shows_ours(operation, target.get());
    if (ours && (operation.flags & holds_others) != 0) {
        errno = EBUSY;
        return fail(failure, Errc::apply, "keep what somebody mounted below our mount at", path,
                    Cause::foreign_mount);
    }
    if (ours && mount::detach(target.get()) != 0)
        return fail(failure, Errc::apply, "unmount", path);
    // If somebody mounted something over it at that moment, that was unmounted instead. If only the
    // mount table tells, it is not worth reading.
    if (ours && !mount::is_unique(operation.mount_id)) {
        operation.done = 0;
        return true;
    }
    if (!mount::exists(operation.mount_id, table)) {
        operation.done = 0;
        return true;
    }
    errno = EBUSY;
    return fail(failure, Errc::apply, "reach our mount, under another mount or elsewhere, at",
                path);
}

} // namespace gpucontainer::program
