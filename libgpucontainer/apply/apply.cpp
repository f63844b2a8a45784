// SPDX-License-Identifier: MIT
#include "apply/apply.hpp"

#include "apply/device_access.hpp"
#include "apply/device_rules.hpp"
#include "apply/failure.hpp"
#include "apply/forecast.hpp"
#include "apply/in_name_of.hpp"
#include "apply/in_use.hpp"
#include "apply/own_root.hpp"
#include "apply/place.hpp"
#include "apply/prepare.hpp"
#include "apply/prepared.hpp"
#include "apply/set_ups.hpp"
#include "apply/sources.hpp"
#include "apply/tree.hpp"
#include "apply/undo_journal.hpp"
#include "base/in_root.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "journal/renumbered.hpp"
#include "journal/seen_root.hpp"
#include "mount/calls.hpp"
#include "mount/facts.hpp"
#include "mount/namespace.hpp"
#include "plan/builder.hpp"
#include "privilege/capabilities.hpp"
#include "program/directory_times.hpp"
#include "program/executor.hpp"
#include "rootfs/root.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <sys/mount.h>

namespace gpucontainer::apply {

using journal::Journal;
using journal::JournalStore;
using journal::Progress;
using journal::RootId;
using program::Program;
namespace {

/// A root file system in the mount namespace of the set-up, and what is known of older set-ups in
/// it.
struct Site {
    const Target& target;
    std::optional<privilege::Owner> owner; ///< Owner of new names; none: the caller.
    RootId root;
    journal::Viewpoint here;
    std::string path; ///< Of the root; "" if it has none on this host.
    journal::RootJournals journals;
    std::optional<journal::Ground> ground; ///< Set if names will be made.
    /// Journal of an older set-up that bind mounted the root on itself. It stays until there is a
    /// new journal, so that the bind mount is known after a crash.
    std::optional<journal::SetUpKey> bound;
    int mounts_below = 0; ///< Number of mounts that this bind mount copied.
    bool shared = false;  ///< Another existing namespace has a set-up there.
    DeviceAccess devices;
    std::vector<Journal> inherited; ///< Older set-ups whose cgroup rules may be needed.

    /// False where some cannot be: their journals stay, for the next undo.
    bool take_back_inherited()
    {
        bool complete = true;
        for (Journal& older : inherited) {
            const bool is_of_bind = bound && file_name(*bound) == file_name(older.key);
            complete = take_back_rules(older, Program(older.program.get()), journals)
                       && (is_of_bind || journals.remove(older.key)) && complete;
        }
        inherited.clear();
        return complete;
    }

    /// What older set-ups left for the new one, when there is none.
    void leave()
    {
        if (take_back_inherited() && bound && apply::unbind(target.rootfs_fd, mounts_below))
            (void)journals.remove(*bound);
    }
};

/// After the steps were undone: undoes the rest, or writes a journal of what could not be undone.
Error roll_back(Error error, Journal& journal, const Place& place, Site& site,
                const Program& program)
{
    const auto operations = program.operations();
    const bool complete =
        take_back_rules(journal, program, site.journals).has_value()
        && std::all_of(operations.begin(), operations.end(),
                       [](const program::Operation& operation) { return operation.done == 0; });
    // The journal of a bind that stays has the same name.
    const bool kept = site.bound && site.bound->mount_id == journal.key.mount_id;
    if (complete && place.leave() && (kept || site.journals.remove(journal.key)))
        return error;
    site.bound.reset(); // it stays for the next undo
    journal.progress = Progress::partly_undone;
    (void)site.journals.write(journal, program);
    return std::move(error)
        .with_code(Errc::apply)
        .with_hint("not everything could be taken back; `gpuctr-setup undo` tries again");
}

Journal new_journal(const plan::Plan& plan, const Site& site, const Place& place)
{
    Journal journal;
    journal.root = site.root;
    journal.key = {site.here, mount::mount_id(place.fd()), site.root.birth_ns};
    journal.root_path = site.path;
    journal.since = std::time(nullptr);
    journal.bound_on_itself = site.bound.has_value() || place.is_bind();
    // Until it is known, all mounts below the bind mount count as copied by it.
    journal.mounts_below = place.is_bind() ? std::numeric_limits<int>::max() : site.mounts_below;
    journal.writes_root = plan.writes_root;
    journal.persistent = plan.writes_root && !mount::is_tmpfs(place.fd());
    journal.ground = site.ground;
    journal.identity = plan.identity;
    journal.tree_path = plan.tree_path;
    journal.drivers = plan.drivers;
    return journal;
}

/// Writes the journal, which replaces an older one of the same name and takes over its cgroup
/// rules.
Result<void> write_first(Journal& journal, const Program& program, Site& site)
{
    const auto older =
        std::ranges::find(site.inherited, file_name(journal.key),
                          [](const Journal& inherited) { return file_name(inherited.key); });
    if (older != site.inherited.end())
        GPUCTR_CHECK(inherit_rules(site.devices, *older, journal, site.journals));
    GPUCTR_CHECK(site.journals.write_before_changes(journal, program));
    if (older != site.inherited.end())
        site.inherited.erase(older);
    return {};
}

/// The number of mounts in the tree, and in covers, for the journal, until they are counted.
void expect_mounts_below(const Program& program, const plan::Plan& plan)
{
    for (program::Operation& operation : program.operations())
        if (operation.step == program::Step::mount
            && (operation.flags & program::holds_mounts) != 0)
            operation.mounts_below =
                static_cast<std::uint32_t>(count_mounts(plan, program.text(operation.path)));
}

/// All changes of the root, in the mount namespace of the set-up.
Result<void> commit(const plan::Plan& plan, const Program& program, const mount::Bench& bench,
                    Site& site, int table)
{
    const int rootfs_fd = site.target.rootfs_fd;
    GPUCTR_TRY(Place place, site.target.pidfd < 0 ? Place::of_directory(bench, rootfs_fd)
                                                  : Place::of_process(bench, rootfs_fd, table));
    Journal journal = new_journal(plan, site, place);
    if (journal.key.mount_id == 0)
        return Error::from_errno(errno, "tell the mount of the root file system", Errc::rootfs);
    program::Failure failure;
    const auto note = [&] {
        if (note_directories(program, place.fd()))
            return true;
        failure = {Errc::rootfs, errno, "look at the directories of our names", ""};
        return false;
    };
    if (!in_name_of(site.owner, failure, note))
        return to_error(failure);
    note_mounts(program);
    expect_mounts_below(program, plan);
    GPUCTR_CHECK(write_first(journal, program, site));

    if (auto entered = place.enter(); !entered)
        return roll_back(std::move(entered).error(), journal, place, site, program);
    if (place.is_bind())
        journal.mounts_below = place.mounts_below();
    if (auto added = add_rules(site.devices, journal, program, site.journals, site.target.findings);
        !added)
        return roll_back(std::move(added).error(), journal, place, site, program);
    const auto attach_all = [&] { return attach(program, place.fd(), failure, table); };
    if (!in_name_of(site.owner, failure, attach_all))
        return roll_back(to_error(failure), journal, place, site, program);
    note_mounts_below(program, place.fd(), table);
    journal.progress = Progress::complete;
    if (auto written = write_with_own_rules(site.devices, journal, program, site.journals);
        !written) {
        const auto take_back = [&] { return program::undo(program, place.fd(), failure, table); };
        (void)in_name_of(site.owner, failure, take_back);
        return roll_back(std::move(written).error(), journal, place, site, program);
    }
    return {};
}

/// Clones sources in the host's mount namespace, and attaches them in that of the root.
Result<void> prepare_and_commit(const plan::Planned& planned, Site& site)
{
    const plan::Plan& plan = planned.plan;
    GPUCTR_TRY(const mount::Scratch scratch, site.journals.scratch(site.target.backend));
    const mount::Bench bench = scratch.bench();
    GPUCTR_TRY(auto block, prepare(planned.plan, bench, site.target.staged_tree));
    const Prepared prepared(std::move(block));
    if (plan.writes_root) {
        GPUCTR_TRY(site.ground,
                   journal::find_ground(site.target.rootfs_fd, site.target.pidfd, site.path));
    }
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(site.target.pidfd));
    GPUCTR_CHECK(commit(plan, prepared.program(), bench, site, visit.table()));
    return visit.leave();
}

Result<void> clear(Journal& journal, Site& site, const mount::Bench& bench, int table)
{
    const int root = site.target.rootfs_fd;
    const Keep keep = may_be_inherited(journal, site.devices) ? Keep::bind_and_rules : Keep::bind;
    GPUCTR_CHECK(
        undo_journal(journal, root, site.journals, keep, {site.owner, table, site.target.findings}),
        "undo the older set-up");
    GPUCTR_TRY(const bool bound, is_bound_by(journal, root), "undo the older set-up");
    if (!bound)
        return {};
    site.bound = journal.key;
    site.mounts_below = journal.mounts_below;
    // It was interrupted before the mount was made private.
    if (mount::sharing(root, table) != mount::Sharing::isolated
        && mount::set_attributes(bench, root, 0, MS_PRIVATE, true) != 0)
        return Error::from_errno(errno, "make the root file system private", Errc::apply);
    return {};
}

/// The set-ups that the root already has.
struct Older {
    bool current = false;      ///< One of them is what the plan wants.
    std::optional<Error> kept; ///< Why another one is not replaced.
    std::vector<Journal> outdated;
};

Result<Older> look_for_older(const plan::Plan& plan, const JournalStore& store, Site& site)
{
    Older older;
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(site.target.pidfd));
    GPUCTR_TRY(site.here, journal::Viewpoint::current());
    const int rootfs_fd = site.target.rootfs_fd;
    GPUCTR_TRY(const auto strays,
               find_strays(store, site.root, rootfs_fd, site.here, visit.table()));
    GPUCTR_CHECK(take_in(store, strays, site.journals));
    const SeenFrom seen = {site.root, rootfs_fd, site.here, visit.table()};
    GPUCTR_TRY(const auto set_ups, find_set_ups(seen, site.journals));
    for (const auto& [key, origin] : set_ups) {
        if (!is_ours(origin)) {
            site.shared = true;
            continue;
        }
        GPUCTR_TRY(Journal journal, read_for(seen, key, site.journals));
        if (is_current(journal, plan, site.here, site.devices, rootfs_fd)) {
            older.current = true;
            continue;
        }
        GPUCTR_TRY(const bool in_use, may_be_in_use(journal, origin, rootfs_fd));
        if (site.target.no_replace && in_use)
            older.kept = not_to_be_replaced(journal, site.path);
        forget_lost_mounts(journal, origin);
        older.outdated.push_back(std::move(journal));
    }
    GPUCTR_CHECK(visit.leave());
    return older;
}

Result<void> make_room(std::vector<Journal>& outdated, Site& site, const mount::Bench& bench)
{
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(site.target.pidfd));
    for (Journal& journal : outdated) {
        auto cleared = clear(journal, site, bench, visit.table());
        if (!cleared)
            site.leave();
        GPUCTR_CHECK(std::move(cleared));
        if (!journal.grant.rules.empty())
            site.inherited.push_back(std::move(journal));
    }
    return visit.leave();
}

Result<void> commit_anew(const plan::Planned& planned, Site& site)
{
    const auto commit = [&]() -> Result<void> {
        GPUCTR_TRY(const auto anew,
                   plan::plan_anew(planned, site.target.rootfs_fd, site.shared, site.owner));
        // The rules of an older set-up may have been removed meanwhile.
        GPUCTR_TRY(site.devices, ask_for_devices(anew.plan, site.target, nullptr));
        return prepare_and_commit(anew, site);
    };
    auto done = commit();
    if (done)
        (void)site.take_back_inherited();
    else
        site.leave();
    return done;
}

/// Undoes the older set-up only when everything for the new one is prepared.
Result<void> replace(const plan::Planned& planned, std::vector<Journal>& outdated, Site& site)
{
    {
        GPUCTR_TRY(const mount::Scratch scratch, site.journals.scratch(site.target.backend));
        const mount::Bench bench = scratch.bench();
        GPUCTR_TRY(auto block, prepare(planned.plan, bench, site.target.staged_tree));
        const Prepared proof(std::move(block));
    }
    GPUCTR_CHECK(secure_rules(site.devices, outdated, site.here, site.journals));
    GPUCTR_CHECK(make_room(outdated, site, {site.target.backend}));
    GPUCTR_CHECK(commit_anew(planned, site), "after the older set-up was undone");
    return {};
}

/// Another plan, if there are nodes that must not be made for the target.
Result<std::optional<plan::Planned>>
without_refused_nodes(const plan::Planned& wanted, const Target& target,
                      const std::optional<privilege::Owner>& owner)
{
    GPUCTR_TRY(auto refused, nodes_not_to_make(wanted.plan, target));
    if (refused.empty())
        return std::optional<plan::Planned>();
    plan::Planned narrower = wanted;
    narrower.refused = std::move(refused);
    GPUCTR_TRY(auto planned, plan::plan_anew(narrower, target.rootfs_fd, false, owner));
    if (target.findings != nullptr)
        for (const auto& [path, why] : planned.refused)
            target.findings->push_back({model::FindingCode::node_forbidden, path,
                                        "the host lacks it, and it is not made: " + why});
    return std::optional(std::move(planned));
}

/// Whether an undo meanwhile removed what the plan found.
Result<bool> lacks_names(const plan::Plan& plan, int rootfs_fd)
{
    GPUCTR_TRY(const auto root, rootfs::Root::open(rootfs_fd));
    return std::ranges::any_of(plan.found, [&](const auto& name) {
        return !name.second.same_file(root.look(name.first));
    });
}

} // namespace

Result<Outcome> apply(const plan::Planned& wanted, const Target& caller)
{
    GPUCTR_CHECK(plan::prove(wanted));
    Target target = caller;
    GPUCTR_CHECK(privilege::require_mounting());
    // Only detached mounts can be moved to another mount namespace.
    if (target.pidfd >= 0)
        GPUCTR_CHECK(require_detached(target.backend));
    GPUCTR_TRY(const auto owner, owner_in(target));
    GPUCTR_TRY(const auto narrower, without_refused_nodes(wanted, target, owner));
    const plan::Planned& planned = narrower ? *narrower : wanted;
    const plan::Plan& plan = planned.plan;
    GPUCTR_TRY(auto devices, ask_for_devices(plan, target, target.findings));
    GPUCTR_TRY(journal::SeenRoot root, journal::SeenRoot::of(target.rootfs_fd, target.pidfd >= 0));
    if (root.path().empty() && !root.is_of_process()) // undo --all needs it
        GPUCTR_CHECK(base::path_of(target.rootfs_fd));
    GPUCTR_CHECK(check_root(plan, target, root.id()));
    if (target.dry_run)
        return forecast(plan, target, devices, root);
    GPUCTR_TRY(const JournalStore store,
               JournalStore::create(target.state_directory, target.rootfs_fd));
    GPUCTR_TRY(auto journals, store.create_root({root.id().device, root.id().inode}));
    // Before the lock was acquired, another set-up may have bind mounted the root on itself, or an
    // undo may have unmounted that.
    root.look();
    GPUCTR_CHECK(require_uncovered(root));
    target.rootfs_fd = root.fd();
    Site site = {target, owner, root.id(), {}, root.path(), std::move(journals), {}};
    site.devices = std::move(devices);

    GPUCTR_TRY(Older older, look_for_older(plan, store, site));
    if (older.current)
        return Outcome::unchanged;
    if (older.kept)
        return *std::move(older.kept);
    if (!older.outdated.empty()) {
        GPUCTR_CHECK(replace(planned, older.outdated, site));
        return Outcome::replaced;
    }
    // If another namespace has a set-up in the same directory, no names may be written into it:
    // neither set-up would know its own.
    // The plan does not fit either if the root is now on another mount, has fewer names, or if its
    // names get another owner than the caller.
    GPUCTR_TRY(const bool lacks, lacks_names(plan, target.rootfs_fd));
    if (site.owner || (plan.writes_root && site.shared) || root.is_elsewhere() || lacks)
        GPUCTR_CHECK(commit_anew(planned, site));
    else
        GPUCTR_CHECK(prepare_and_commit(planned, site));
    return Outcome::applied;
}

} // namespace gpucontainer::apply
