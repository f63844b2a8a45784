// SPDX-License-Identifier: MIT
#include "apply/attach.hpp"

#include "apply/directory_times.hpp"
#include "apply/name_steps.hpp"
#include "apply/parent.hpp"
#include "base/in_root.hpp"
#include "base/kernel_file_system.hpp"
#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/kernel.hpp"
#include "mount/lock.hpp"
#include "mount/statmount.hpp"
#include "mount/submounts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

constexpr const char* overlay_step = "overlay names over";
constexpr const char* foreign_step = "keep what somebody mounted below our mount at";

bool fail(Failure& failure, Errc code, const char* step, const char* object) noexcept
{
    failure.os_error = errno;
    failure.code = errno == EPERM || errno == EACCES ? Errc::permission : code;
    failure.step = step;
    failure.object = object;
    return false;
}

UniqueFd open_target(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    const std::uint64_t follow = (operation.flags & follow_target) != 0 ? 0 : O_NOFOLLOW;
    return UniqueFd(base::open_in_root(rootfs_fd, program.text(operation.path), O_PATH | follow));
}

/// Mount attributes and statfs flags of the same meaning have the same values.
static_assert(MOUNT_ATTR_RDONLY == ST_RDONLY && MOUNT_ATTR_NOSUID == ST_NOSUID
              && MOUNT_ATTR_NODEV == 4 && MOUNT_ATTR_NOEXEC == 8);

/// Unmounts a mount of names again, on which there is nothing; EBUSY where somebody
/// mounted something by now, who would be unmounted in its place.
bool take_off(const Program& program, const Operation& operation, int names, int rootfs_fd) noexcept
{
    bool covered = false;
    if (const mount::Below below = mount::list_below(names); below.count >= 0) {
        covered = below.count > 0;
    } else {
        const UniqueFd uppermost = open_target(program, operation, rootfs_fd);
        FileMark found = {};
        FileMark wanted = {};
        if (!uppermost || !look_at(uppermost.get(), found) || !look_at(names, wanted))
            return false;
        covered = !same_file(found, wanted);
    }
    errno = EBUSY;
    return !covered && mount::detach(names) == 0;
}

/// The names in the operation's mount over what is at the path. A layer has to be
/// attached: they lie over the target themselves for as long as it takes to make the
/// overlay, unless they are on a stage.
UniqueFd make_overlay(const Program& program, mount::Bench& bench, Operation& operation, int target,
                      int rootfs_fd) noexcept
{
    constexpr std::uint64_t inherited = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
    const int names = program.fds()[static_cast<std::size_t>(operation.fd)];
    const bool staged = bench.stage >= 0;
    UniqueFd overlay;
    std::uint64_t flags = 0;
    if (!mount::read_flags(target, flags))
        return overlay;
    const std::uint64_t attributes = (flags & inherited) | MOUNT_ATTR_RDONLY;
    if (!staged && mount::attach(bench, names, target) != 0)
        return overlay;
    // Unbindable until now, and nothing unbindable can be a layer.
    if (mount::set_attributes(bench, names, 0, MS_PRIVATE, false) == 0)
        overlay.reset(
            mount::new_overlay(bench, names, target, attributes, program.text(operation.data)));
    if (overlay && (operation.flags & lock_flags) != 0) {
        int locked = overlay.release();
        const bool failed = mount::lock({&locked, 1}) != nullptr;
        overlay.reset(locked);
        if (failed)
            overlay.reset();
    }
    if (overlay && mount::set_attributes(bench, overlay.get(), 0, MS_UNBINDABLE, false) != 0)
        overlay.reset();
    const int saved = errno;
    if (staged || take_off(program, operation, names, rootfs_fd)) {
        errno = saved;
        return overlay;
    }
    // Undo knows them until they can be unmounted.
    const int reason = errno;
    operation.mount_id = mount::mount_id(names);
    operation.done = 1;
    errno = reason;
    return {};
}

/// Where a link of the image leads, nothing may be mounted that hides what the kernel
/// shows, or that is not reached again.
bool is_allowed(const char* path, const Operation& operation, int target, int rootfs_fd) noexcept
{
    struct stat root = {};
    struct stat status = {};
    const bool overlay = operation.step == Step::overlay;
    const bool looked =
        !overlay || (::fstat(target, &status) == 0 && ::fstat(rootfs_fd, &root) == 0);
    errno = ELOOP;
    if (overlay && (!looked || (status.st_ino == root.st_ino && status.st_dev == root.st_dev)))
        return false;
    if ((operation.flags & follow_target) == 0
        || std::strncmp(path, "/proc/", std::strlen("/proc/")) == 0
        || !base::is_on_kernel_file_system(target))
        return true;
    errno = errno != 0 ? errno : ELOOP;
    return false;
}

/// What is attached as it was prepared may be known already.
bool know_mount(Operation& operation, int tree) noexcept
{
    if (operation.step == Step::overlay || operation.mount_id == 0)
        operation.mount_id = mount::mount_id(tree);
    return operation.mount_id != 0;
}

bool attach_mount(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
                  int table) noexcept
{
    const char* const path = program.text(operation.path);
    const UniqueFd target = open_target(program, operation, rootfs_fd);
    if (!target)
        return fail(failure, Errc::rootfs, "open", path);
    if (!is_allowed(path, operation, target.get(), rootfs_fd))
        return fail(failure, Errc::rootfs, "mount, where it leads, at", path);

    mount::Bench bench = program.bench();
    constexpr unsigned most_names = 1U << 12U; // of one operation, on the stage
    bench.next += static_cast<unsigned>(&operation - program.operations().data()) * most_names;
    UniqueFd overlay;
    int tree = program.fds()[static_cast<std::size_t>(operation.fd)];
    if (operation.step == Step::overlay) {
        overlay = make_overlay(program, bench, operation, target.get(), rootfs_fd);
        if (!overlay)
            return fail(failure, errno == EINVAL ? Errc::rootfs : Errc::apply, overlay_step, path);
        tree = overlay.get();
    }
    if (!know_mount(operation, tree))
        return fail(failure, Errc::apply, "tell the identity of the mount for", path);
    // Trees are unbindable until here, so that the kernel itself refuses to
    // attach one where it would show in other namespaces.
    if (mount::attach(bench, tree, target.get()) != 0) {
        const bool refused = errno == EINVAL || errno == ENOTDIR || errno == ENOENT;
        return fail(failure, refused ? Errc::rootfs : Errc::apply, "attach mount at", path);
    }
    operation.done = 1;
    if (mount::set_attributes(bench, tree, 0, MS_PRIVATE, true) != 0)
        return fail(failure, Errc::apply, "make private the mount at", path);
    if (operation.step == Step::overlay
        && mount::carry_submounts(bench, target.get(), tree, table) != 0)
        return fail(failure, Errc::rootfs, "keep in sight what is mounted below", path);
    std::uint64_t flags = 0;
    if (!mount::read_flags(tree, flags) || (flags & operation.attributes) != operation.attributes) {
        errno = EIO;
        return fail(failure, Errc::apply, "verify the flags of the mount at", path);
    }
    return true;
}

/// Marks the directories of ours below which something is mounted that was not there
/// when they were: unmounting them would take it along. Before any mount of ours is
/// gone, or there would be fewer than there were.
void mark_holders(const Program& program, int rootfs_fd, int table) noexcept
{
    for (Operation& operation : program.operations()) {
        operation.flags &= ~holds_others;
        if (operation.done == 0 || (operation.flags & holds_mounts) == 0
            || operation.mounts_below == any_number)
            continue;
        const UniqueFd target = open_target(program, operation, rootfs_fd);
        if (!target || !mount::is_on(target.get(), operation.mount_id))
            continue;
        const mount::Below below = mount::look_below(target.get(), table);
        if (below.count > static_cast<std::int64_t>(operation.mounts_below)
            || (operation.newest_below != 0 && below.newest > operation.newest_below))
            operation.flags |= holds_others;
    }
}

/// An identity of the mount table may be another mount's by now, of which another file is seen.
bool shows_ours(const Operation& operation, int target) noexcept
{
    if (mount::is_unique(operation.mount_id) || operation.step == Step::overlay
        || operation.made.inode == 0)
        return true;
    FileMark found = {};
    return look_at(target, found) && same_file(found, operation.made);
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
        return fail(failure, Errc::apply, foreign_step, path);
    }
    if (ours && mount::detach(target.get()) != 0)
        return fail(failure, Errc::apply, "unmount", path);
    // Who mounted something over it at that moment was unmounted in its place; where only
    // the mount table tells, that is not worth reading it.
    if (ours && !mount::is_unique(operation.mount_id)) {
        operation.done = 0;
        return true;
    }
    if (!mount::exists(operation.mount_id, table)) {
        operation.done = 0;
        return true;
    }
    errno = EBUSY;
    return fail(failure, Errc::apply, "reach, under another mount or elsewhere, our mount at",
                path);
}

bool perform(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
             int table) noexcept
{
    if (is_mount(operation))
        return attach_mount(program, operation, rootfs_fd, failure, table);
    return make_name(program, operation, rootfs_fd, failure);
}

/// Newest first; on failure goes on with the rest and reports the first.
template <typename Chosen, typename Undo>
bool take_back(const Program& program, Failure& failure, Chosen chosen, Undo undo) noexcept
{
    bool complete = true;
    const auto operations = program.operations();
    for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
        if (operation->done == 0 || !chosen(*operation))
            continue;
        Failure found;
        const bool undone = undo(*operation, found);
        if (!undone && complete)
            failure = found;
        complete = complete && undone;
    }
    return complete;
}

} // namespace

bool attach(const Program& program, int rootfs_fd, Failure& failure, int table) noexcept
{
    for (Operation& operation : program.operations()) {
        if (perform(program, operation, rootfs_fd, failure, table))
            continue;
        Failure ignored;
        (void)undo(program, rootfs_fd, ignored, table);
        return false;
    }
    program.header().attached = 1;
    return true;
}

void note_mounts(const Program& program) noexcept
{
    for (Operation& operation : program.operations())
        if (operation.step == Step::mount)
            operation.mount_id =
                mount::mount_id(program.fds()[static_cast<std::size_t>(operation.fd)]);
}

void note_mounts_below(const Program& program, int rootfs_fd, int table) noexcept
{
    for (Operation& operation : program.operations()) {
        if ((operation.flags & holds_mounts) == 0)
            continue;
        const UniqueFd target = open_target(program, operation, rootfs_fd);
        // How many there are in the tree is known without a mount table.
        const bool known = operation.mounts_below != any_number;
        const mount::Below below = !target ? mount::Below()
                                   : known ? mount::list_below(target.get())
                                           : mount::look_below(target.get(), table);
        if (below.count < 0)
            continue;
        operation.mounts_below = static_cast<std::uint32_t>(below.count);
        operation.newest_below = below.newest;
    }
}

bool undo_mounts(const Program& program, int rootfs_fd, Failure& failure, int table) noexcept
{
    mark_holders(program, rootfs_fd, table);
    return take_back(
        program, failure, [](const Operation& operation) { return is_mount(operation); },
        [&](Operation& operation, Failure& found) {
            return detach_mount(program, operation, rootfs_fd, found, table);
        });
}

bool undo_names(const Program& program, int rootfs_fd, Failure& failure, int table) noexcept
{
    return take_back(
        program, failure,
        [](const Operation& operation) {
            return !is_mount(operation) && (operation.flags & not_settled) == 0;
        },
        [&](Operation& operation, Failure& found) {
            return remove_name(program, operation, rootfs_fd, found, table);
        });
}

bool undo(const Program& program, int rootfs_fd, Failure& failure, int table) noexcept
{
    Failure later;
    const bool unmounted = undo_mounts(program, rootfs_fd, failure, table);
    // Without it the steps still know the times that they found.
    Failure ignored;
    (void)settle_times(program, rootfs_fd, 0, ignored, table);
    for (Operation& operation : program.operations())
        operation.flags &= ~not_settled;
    const bool removed = undo_names(program, rootfs_fd, unmounted ? failure : later, table);
    // A name that was not there may come back before the next attempt.
    if (unmounted && removed)
        for (Operation& operation : program.operations())
            operation.done = 0;
    program.header().attached = 0;
    return unmounted && removed;
}

bool is_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    // A device lies over the file that was made for it.
    if (!is_mount(operation) && is_name_intact(program, operation, rootfs_fd))
        return true;
    const UniqueFd target = open_target(program, operation, rootfs_fd);
    if (operation.done == 0 || !target || !mount::is_mount_root(target.get()))
        return false;
    return !is_mount(operation) || mount::is_on(target.get(), operation.mount_id);
}

bool is_intact(const Program& program, int rootfs_fd) noexcept
{
    const auto operations = program.operations();
    return std::all_of(operations.begin(), operations.end(), [&](const Operation& operation) {
        return is_intact(program, operation, rootfs_fd);
    });
}

Error to_error(const Failure& failure)
{
    const std::string what = std::string(failure.step) + " " + failure.object;
    Error error = failure.os_error != 0 ? Error::from_errno(failure.os_error, what, failure.code)
                                        : Error(failure.code, what);
    const bool is_overlay = failure.step == std::string_view(overlay_step);
    constexpr unsigned for_users_major = 5;
    constexpr unsigned for_users_minor = 11;
    std::string hint;
    if (is_overlay && failure.os_error == EPERM
        && !mount::is_kernel_at_least(for_users_major, for_users_minor))
        hint = "before Linux 5.11 only root may lay overlays: run it as root";
    if (failure.os_error == EINVAL && failure.code == Errc::rootfs)
        hint = is_overlay
                   ? "a user namespace may not lay anything over what the host mounted below "
                     "it; unmount that, or let the container mount it"
                   : "the mount that the root file system is on must not be shared";
    if (failure.step == std::string_view(foreign_step))
        hint = "unmount that first: it would go along";
    if (failure.os_error == EEXIST && failure.step == std::string_view(replace_step))
        hint = std::string(kept_prefix)
               + "* beside it is what a set-up replaced that is not known here: undo that one with "
                 "its own state directory, or move the file back";
    if (failure.os_error == ESTALE)
        hint = "it changed while this was going on; try again";
    return std::move(error)
        .with_code(failure.code)
        .with_object(failure.object)
        .with_hint(std::move(hint));
}

} // namespace gpucontainer::apply
