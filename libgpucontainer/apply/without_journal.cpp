// SPDX-License-Identifier: MIT
#include "apply/without_journal.hpp"

#include "apply/failure.hpp"
#include "apply/in_use.hpp"
#include "apply/own_root.hpp"
#include "apply/prepare.hpp"
#include "apply/prepared.hpp"
#include "base/try.hpp"
#include "elf/ld_cache.hpp"
#include "journal/journal.hpp"
#include "mount/facts.hpp"
#include "mount/scratch.hpp"
#include "privilege/capabilities.hpp"
#include "program/executor.hpp"
#include "program/name_steps.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpucontainer::apply {

using journal::RootId;
using program::Program;

namespace {

constexpr std::size_t largest_cache = 64U << 20U;

/// Without a loader cache that the root has already: a container that is started again keeps what
/// was written into its layer.
Result<plan::Plan> without_cache_that_is_there(plan::Plan plan, int rootfs_fd)
{
    const auto cache = std::ranges::find_if(plan.items, [](const plan::Item& item) {
        return item.as<plan::LoaderCache>() != nullptr && item.place == plan::Place::created;
    });
    if (cache == plan.items.end() || !plan.old_cache)
        return plan;
    GPUCTR_TRY(const auto root, rootfs::Root::open(rootfs_fd));
    const auto text = root.read(cache->target, largest_cache);
    if (text && elf::are_alike(*text, cache->as<plan::LoaderCache>()->content))
        plan.items.erase(cache);
    return plan;
}

/// Has names made in the directories that were planned: a link that was put into the place of one
/// since then may lead to a volume.
void expect_directories(const plan::Plan& plan, const Program& program)
{
    std::map<std::string_view, const plan::Item*> created;
    for (const plan::Item& item : plan.items)
        if (item.place == plan::Place::created)
            created.emplace(item.target, &item);
    for (program::Operation& operation : program.operations()) {
        const auto item = program::is_mount(operation) ? created.end()
                                                       : created.find(program.text(operation.path));
        if (item == created.end())
            continue;
        operation.parent_device = item->second->directory.device;
        operation.parent_inode = item->second->directory.inode;
    }
}

/// Nobody puts back what a loader cache of ours replaced.
void forget_replaced(const Program& program, int rootfs_fd)
{
    for (const program::Operation& operation : program.operations())
        if (operation.step == program::Step::replace_file && operation.expected.inode != 0)
            (void)program::forget_replaced(program, operation, rootfs_fd);
}

} // namespace

Result<Outcome> apply_without_journal(const plan::Planned& planned, const Target& target)
{
    GPUCTR_CHECK(plan::prove(planned));
    const plan::Plan& plan = planned.plan;
    const int rootfs_fd = target.rootfs_fd;
    GPUCTR_CHECK(privilege::require_mounting());
    GPUCTR_TRY(const RootId root, RootId::of(rootfs_fd));
    GPUCTR_CHECK(check_root(plan, target, root));
    if (!target.over_copies) {
        GPUCTR_TRY(const bool is_there, is_there_already(planned, target));
        if (is_there)
            return Outcome::unchanged;
    }
    if (mount::sharing(rootfs_fd) == mount::Sharing::shared)
        return Error(Errc::rootfs, "the root file system is on a shared mount")
            .with_hint("what is mounted there would show in other mount namespaces, and stay; make "
                       "it private in this one (mount --make-rprivate)");
    if (target.dry_run) {
        GPUCTR_CHECK(require_preparable(plan, target.backend));
        return Outcome::applied;
    }
    GPUCTR_TRY(mount::Scratch scratch, mount::Scratch::in_own_namespace(target.backend));
    const mount::Bench bench = scratch.bench();
    std::optional<plan::Plan> shorter;
    if (plan.writes_root) {
        GPUCTR_TRY(shorter, without_cache_that_is_there(plan, rootfs_fd));
    }
    GPUCTR_TRY(auto block, prepare(shorter ? *shorter : plan, bench, target.staged_tree));
    const Prepared prepared(std::move(block));
    expect_directories(plan, prepared.program());
    program::Failure failure;
    if (!attach(prepared.program(), rootfs_fd, failure))
        return to_error(failure);
    // The mounts that stay would cover the caller's root directory.
    if (scratch.leave()) {
        forget_replaced(prepared.program(), rootfs_fd);
        return Outcome::applied;
    }
    Error error =
        Error::from_errno(errno, "take away the place that mounts were made at", Errc::apply);
    (void)program::undo(prepared.program(), rootfs_fd, failure);
    return error;
}

} // namespace gpucontainer::apply
