// SPDX-License-Identifier: MIT
#include "program/executor.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "mount/statmount.hpp"
#include "mount/submounts.hpp"
#include "program/directory_times.hpp"
#include "program/mount_steps.hpp"
#include "program/name_steps.hpp"

#include <algorithm>
#include <cstdint>

namespace gpucontainer::program {

using base::UniqueFd;

namespace {

/// Marks our directories below which somebody mounted something later: unmounting them would
/// unmount that too. Call it before unmounting any, because it compares the number of mounts.
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

bool perform(const Program& program, Operation& operation, int rootfs_fd, Failure& failure,
             int table) noexcept
{
    if (is_mount(operation))
        return attach_mount(program, operation, rootfs_fd, failure, table);
    return make_name(program, operation, rootfs_fd, failure);
}

/// Undoes the chosen operations, newest first. After a failure, it goes on with the rest. It
/// reports the first failure.
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
        // The number of mounts in the tree is known without a mount table.
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
    // If it fails, the steps still have the times that they found.
    Failure ignored;
    (void)settle_times(program, rootfs_fd, 0, ignored, table);
    for (Operation& operation : program.operations())
        operation.flags &= ~not_settled;
    const bool removed = undo_names(program, rootfs_fd, unmounted ? failure : later, table);
    // A name that was missing may appear again before the next attempt.
    if (unmounted && removed)
        for (Operation& operation : program.operations())
            operation.done = 0;
    program.header().attached = 0;
    return unmounted && removed;
}

bool is_intact(const Program& program, const Operation& operation, int rootfs_fd) noexcept
{
    // A device is mounted over the file that was made for it.
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

} // namespace gpucontainer::program
