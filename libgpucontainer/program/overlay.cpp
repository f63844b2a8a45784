// SPDX-License-Identifier: MIT
#include "program/overlay.hpp"

#include "base/in_root.hpp"
#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/detach.hpp"
#include "mount/facts.hpp"
#include "mount/lock.hpp"
#include "mount/table.hpp"
#include "program/parent.hpp"
#include "syscall/mount_flags.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

namespace gpucontainer::program {
namespace {

using base::UniqueFd;

/// Mount attributes and statfs flags of the same meaning have the same values.
static_assert(MOUNT_ATTR_RDONLY == ST_RDONLY && MOUNT_ATTR_NOSUID == ST_NOSUID
              && MOUNT_ATTR_NODEV == 4 && MOUNT_ATTR_NOEXEC == 8);

/// Unmounts the names again. EBUSY if somebody mounted something over them: that would be unmounted
/// instead.
bool take_off(const Program& program, const Operation& operation, int names, int rootfs_fd) noexcept
{
    bool covered = false;
    if (const mount::Below below = mount::list_below(names); below.count >= 0) {
        covered = below.count > 0;
    } else {
        const UniqueFd uppermost(
            base::open_in_root(rootfs_fd, program.text(operation.path), O_PATH));
        FileMark found = {};
        FileMark wanted = {};
        if (!uppermost || !look_at(uppermost.get(), found) || !look_at(names, wanted))
            return false;
        covered = !same_file(found, wanted);
    }
    errno = EBUSY;
    return !covered && mount::detach(names) == 0;
}

/// An overlay of the operation's names over what is at the path. Layers must be attached, so the
/// names are mounted over the target while the overlay is made, unless they are on the scratch
/// directory.
UniqueFd make_overlay(const Program& program, const mount::Bench& bench, Operation& operation,
                      const mount::NamesOver& names, int rootfs_fd) noexcept
{
    const bool detached = mount::way_of(bench.backend).detached;
    UniqueFd overlay;
    if (detached && mount::attach(bench, names.names_fd, names.covered_fd) != 0)
        return overlay;
    // It is unbindable until now, and an unbindable mount cannot be a layer.
    if (mount::set_attributes(bench, names.names_fd, 0, MS_PRIVATE, false) == 0)
        overlay.reset(mount::new_overlay(bench, names.names_fd, names.covered_fd, names.attributes,
                                         names.label));
    const int saved = errno;
    if (!detached || take_off(program, operation, names.names_fd, rootfs_fd)) {
        errno = saved;
        return overlay;
    }
    // Undo remembers them until they can be unmounted.
    const int reason = errno;
    operation.mount_id = mount::mount_id(names.names_fd);
    operation.done = 1;
    errno = reason;
    return {};
}

/// The kernel's errors for a directory that cannot be a layer: there are two overlays below it
/// already, it is unbindable, a user namespace may not see what it covers, or the kernel has no
/// overlays, or none for users.
bool may_be_no_layer(int os_error) noexcept
{
    return os_error == EINVAL || os_error == EPERM || os_error == ENODEV;
}

/// Trees are unbindable until they are attached.
bool make_fit(const mount::Bench& bench, const Operation& operation, UniqueFd& over) noexcept
{
    bool fit = true;
    if ((operation.flags & lock_flags) != 0) {
        int locked = over.release();
        fit = mount::lock({&locked, 1}) == nullptr;
        over.reset(locked);
    }
    return fit && mount::set_attributes(bench, over.get(), 0, MS_UNBINDABLE, false) == 0;
}

} // namespace

mount::Over lay_names(const Program& program, const mount::Bench& bench, Operation& operation,
                      int target_fd, int rootfs_fd) noexcept
{
    constexpr std::uint64_t inherited = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    mount::Over over = {UniqueFd(), false, overlay_step};
    std::uint64_t flags = 0;
    if (!syscall::read_mount_flags(target_fd, flags))
        return over;
    const mount::NamesOver names = {program.fds()[static_cast<std::size_t>(operation.fd)],
                                    target_fd, (flags & inherited) | MOUNT_ATTR_RDONLY,
                                    program.text(operation.data)};
    over.mount = make_overlay(program, bench, operation, names, rootfs_fd);
    if (!over && operation.done == 0 && may_be_no_layer(errno))
        over = mount::lay_aside(bench, names);
    if (over && !make_fit(bench, operation, over.mount))
        over = {UniqueFd(), false, overlay_step};
    return over;
}

} // namespace gpucontainer::program
