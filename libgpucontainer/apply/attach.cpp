// SPDX-License-Identifier: MIT
#include "apply/attach.hpp"

#include "apply/directory_times.hpp"
#include "apply/name_steps.hpp"
#include "apply/overlay.hpp"
#include "apply/parent.hpp"
#include "base/in_root.hpp"
#include "base/kernel_file_system.hpp"
#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/kernel.hpp"
#include "mount/statmount.hpp"
#include "mount/submounts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

constexpr const char* shared_step = "attach to a shared mount, at";
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

/// Where a link of the image leads, nothing may be mounted that hides what the kernel
/// shows, but for what is to be hidden of /proc, or that is not reached again.
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

/// What is attached as it was prepared may be known already.
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
                is_shared ? shared_step : "attach mount at", path);
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
    mount::Over over;
    int tree = program.fds()[static_cast<std::size_t>(operation.fd)];
    if (operation.step == Step::overlay) {
        over = lay_names(program, bench, operation, target.get(), rootfs_fd);
        if (!over)
            return fail(failure, errno == EINVAL ? Errc::rootfs : Errc::apply, over.failed, path);
        tree = over.mount.get();
    }
    if (!know_mount(operation, tree))
        return fail(failure, Errc::apply, "tell the identity of the mount for", path);
    // Trees are unbindable until here, so that the kernel itself refuses to
    // attach one where it would show in other namespaces.
    if (mount::attach(bench, tree, target.get()) != 0)
        return fail_to_attach(target.get(), path, failure, table);
    operation.done = 1;
    // What a list shows goes on showing what is mounted there.
    if (mount::set_attributes(bench, tree, 0, MS_PRIVATE, !over.lists) != 0)
        return fail(failure, Errc::apply, "make private the mount at", path);
    if (operation.step == Step::overlay && !over.lists
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

namespace {

/// Of mounts of all that is in a directory, where no overlay can lie over it.
std::string hint_for_listing(int os_error)
{
    if (os_error == ENOSPC)
        return "no overlay can lie over it, and mounts of all that is in it are more than the "
               "sysctl fs.mount-max allows; let the root file system be written with --write "
               "always";
    if (os_error == E2BIG)
        return "no overlay can lie over it, and mounts of all that is in it are too many; let the "
               "root file system be written with --write always";
    if (os_error == EINVAL)
        return "a mount there is unbindable; make it private: mount --make-private DIR";
    return "";
}

std::string hint_for(const Failure& failure)
{
    const std::string_view step = failure.step;
    if (step == mount::listing_step)
        if (std::string hint = hint_for_listing(failure.os_error); !hint.empty())
            return hint;
    if (step == mount::copy_step && failure.os_error == EXDEV)
        return mount::why_out_of_reach;
    if (step == shared_step)
        return "it would show in other namespaces too; make all mounts of the root file system "
               "private (in a container that runs: mount --make-rprivate /)";
    if (step == foreign_step)
        return "unmount that first: it would go along";
    if (failure.os_error == EEXIST && step == replace_step)
        return std::string(kept_prefix)
               + "* beside it is what a set-up replaced that is not known here: undo that one with "
                 "its own state directory, or move the file back";
    if (step.starts_with("create ") && (failure.os_error == EROFS || failure.os_error == EACCES))
        return "--write auto lets names appear through mounts where they cannot be made";
    if (failure.os_error == ESTALE)
        return "it changed while this was going on; try again";
    return "";
}

} // namespace

Error to_error(const Failure& failure)
{
    const std::string what = std::string(failure.step) + " " + failure.object;
    Error error = failure.os_error != 0 ? Error::from_errno(failure.os_error, what, failure.code)
                                        : Error(failure.code, what);
    return std::move(error)
        .with_code(failure.code)
        .with_object(failure.object)
        .with_hint(hint_for(failure));
}

} // namespace gpucontainer::apply
