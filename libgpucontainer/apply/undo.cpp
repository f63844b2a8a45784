// SPDX-License-Identifier: MIT
#include "apply/undo.hpp"

#include "apply/attach.hpp"
#include "apply/cache_cleaning.hpp"
#include "apply/directory_times.hpp"
#include "apply/in_name_of.hpp"
#include "apply/recovery.hpp"
#include "apply/renumbered.hpp"
#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/namespace.hpp"
#include "mount/position.hpp"
#include "privilege/capabilities.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

/// Nothing of the set-up can be left in a root that is not at its path.
bool may_be_forgotten(const Journal& journal)
{
    if (!journal.persistent)
        return !journal.writes_root || !journal.root_path.empty()
               || !mount::is_mounted(journal.root.device);
    if (journal.root_path.empty())
        return false;
    // What another file system hides, or is not mounted at the moment, is not gone; one
    // with the same number may be another.
    struct stat status = {};
    return ::stat(journal.root_path.c_str(), &status) != 0
           || (status.st_dev == journal.root.device && !is_anonymous(status.st_dev));
}

/// What is left of a namespace that ended are names, which their owner may remove.
bool has_mounts(const Journal& journal, const Program& program)
{
    return journal.bound_on_itself || journal.progress == Progress::begun
           || std::ranges::any_of(program.operations(), [](const Operation& operation) {
                  return is_mount(operation) && operation.done != 0;
              });
}

} // namespace

Result<bool> is_bound_by(const Journal& journal, int rootfs_fd)
{
    if (!journal.bound_on_itself)
        return false;
    return is_seen_on(rootfs_fd, journal.key.mount_id);
}

bool unbind(int rootfs_fd, int mounts_below)
{
    const int count = mount::count_below(rootfs_fd);
    if (count < 0)
        return errno == EXDEV; // it stays
    return count > mounts_below || mount::detach_uncovered(rootfs_fd) == 0;
}

void forget_lost_mounts(Journal& journal, Origin origin)
{
    if (origin == Origin::here)
        return;
    journal.bound_on_itself = false;
    for (Operation& operation : Program(journal.program.get()).operations()) {
        operation.parent_mount = 0;
        if (is_mount(operation))
            operation.done = 0;
    }
}

/// What apply() or undo_journal() was at when it was cut off, as far as it is known.
std::int64_t cut_off_since(const Journal& journal)
{
    return journal.progress == Progress::complete ? 0 : journal.changing_since;
}

/// The failure that is to be told of several: the first.
class First {
public:
    /// Where the next step may write its own.
    Failure& slot() noexcept { return complete_ ? first_ : later_; }
    void note(bool succeeded) noexcept { complete_ = complete_ && succeeded; }
    bool is_complete() const noexcept { return complete_; }
    const Failure& failure() const noexcept { return first_; }

private:
    bool complete_ = true;
    Failure first_;
    Failure later_;
};

/// Each step in the root as whom its names belong to, the journal in between as the caller.
class Undoing {
public:
    Undoing(Journal& journal, int rootfs_fd, RootJournals& journals, const Actor& actor)
        : journal_(journal), program_(journal.program.get()), rootfs_fd_(rootfs_fd),
          journals_(journals), actor_(actor), table_(actor.table)
    {
    }

    /// What could not be taken back is kept in the journal.
    Result<void> take_back()
    {
        const bool begun = journal_.progress == Progress::begun;
        if (begun)
            step([&](Failure& failure) {
                return adopt_mounts(journal_, rootfs_fd_, failure, table_);
            });
        step([&](Failure& failure) { return undo_mounts(program_, rootfs_fd_, failure, table_); });
        if (begun)
            step([&](Failure& failure) {
                return adopt_names(journal_, rootfs_fd_, failure, table_);
            });
        // As long as it is not known what there is of it, also because mounts of ours hide
        // it, it has to be looked for.
        const Progress progress =
            begun && !first_.is_complete() ? Progress::begun : Progress::partly_undone;
        settle(progress);
        step([&](Failure& failure) { return undo_names(program_, rootfs_fd_, failure, table_); });
        if (first_.is_complete())
            return {};
        journal_.progress = progress;
        GPUCTR_CHECK(journals_.write(journal_, program_));
        return to_error(first_.failure());
    }

    bool restore_times() const
    {
        Failure failure;
        return in_name_of(actor_.owner, failure,
                          [&] { return apply::restore_times(program_, rootfs_fd_, table_); });
    }

    /// The names have to be gone for good before their journal is.
    void synchronize() const
    {
        Failure failure;
        (void)in_name_of(actor_.owner, failure, [&] {
            synchronize_directories(program_, rootfs_fd_, table_);
            return true;
        });
    }

private:
    template <typename Step>
    bool step(Step step)
    {
        Failure& failure = first_.slot();
        const bool done = in_name_of(actor_.owner, failure, [&] { return step(failure); });
        first_.note(done);
        return done;
    }

    /// Has the journal say which times directories are to have, before names are taken
    /// away: in between only that tells whose change it was.
    void settle(Progress progress)
    {
        const bool settled = step([&](Failure& failure) {
            return settle_times(program_, rootfs_fd_, cut_off_since(journal_), failure, table_);
        });
        if (std::ranges::all_of(program_.operations(), is_mount))
            return;
        journal_.progress = progress;
        // Not being able to write must not stand in the way of undo. A directory that is
        // still to be settled was changed since the moment that the journal says.
        if (settled)
            (void)journals_.write_before_changes(journal_, program_);
        else
            (void)journals_.write(journal_, program_);
    }

    Journal& journal_;
    Program program_;
    int rootfs_fd_;
    RootJournals& journals_;
    const Actor& actor_;
    int table_;
    First first_;
};

Result<void> undo_journal(Journal& journal, int rootfs_fd, RootJournals& journals, Bind bind,
                          const Actor& actor)
{
    const Program program(journal.program.get());
    if (has_mounts(journal, program)) {
        GPUCTR_CHECK(privilege::require_mounting());
        GPUCTR_CHECK(base::open_own_descriptors());
    }
    const bool cut_off = journal.progress != Progress::complete;
    Undoing undoing(journal, rootfs_fd, journals, actor);
    GPUCTR_CHECK(undoing.take_back());
    if (cut_off && !undoing.restore_times())
        return Error::from_errno(errno, "give directories their times back", Errc::apply);
    Result<void> cleaned;
    if (journal.writes_root)
        cleaned =
            clean_loader_cache(program, rootfs_fd, journal.tree_path, actor.owner, actor.table);
    if (journal.persistent)
        undoing.synchronize();
    GPUCTR_TRY(const bool bound, is_bound_by(journal, rootfs_fd));
    if (bound && bind == Bind::keep)
        return {};
    if (bound && !unbind(rootfs_fd, journal.mounts_below))
        return Error::from_errno(errno, "unmount the root file system's bind", Errc::apply);
    GPUCTR_CHECK(journals.remove(journal.key));
    // Another set-up takes its place: it writes the loader cache anew.
    return bind == Bind::keep ? Result<void>() : std::move(cleaned);
}

Result<std::vector<SetUpKey>> keys_of(const RootId& root, int rootfs_fd, const Viewpoint& here,
                                      RootJournals& journals)
{
    GPUCTR_TRY(const auto keys, journals.keys());
    std::vector<SetUpKey> found;
    for (const SetUpKey& key : keys) {
        RootId there = root;
        there.birth_ns = key.root_birth_ns;
        const bool may_be = root.may_be(there);
        if (!may_be && !root.renumbered)
            GPUCTR_CHECK(journals.remove(key));
        if (!may_be)
            continue; // the other directory may be there, with another number
        // What can be told by the name alone needs no look at the journal.
        const bool told = root.birth_ns != 0 && key.root_birth_ns != 0 && root.subvolume == 0;
        if (root.renumbered && !told) {
            const auto journal = journals.read(key);
            if (journal && !is_of(*journal, root, rootfs_fd, here))
                continue;
        }
        found.push_back(key);
    }
    std::stable_partition(found.begin(), found.end(), [&](const SetUpKey& key) {
        return key.from.mount_namespace == here.mount_namespace && key.from.boot_id == here.boot_id;
    });
    return found;
}

Result<Journal> read_for(const RootId& root, int rootfs_fd, const Viewpoint& here,
                         const SetUpKey& key, const RootJournals& journals)
{
    GPUCTR_TRY(Journal journal, journals.read(key));
    renumber(journal, root, rootfs_fd, here);
    return journal;
}

/// None where there is no journal of the root, and none is to be.
Result<std::optional<RootJournals>> open_own(const JournalStore& store, const RootId& root,
                                             bool create)
{
    const RootName name(root.device, root.inode);
    if (!create)
        return store.open_root(name, JournalStore::Lock::exclusive);
    GPUCTR_TRY(auto journals, store.create_root(name));
    return std::optional(std::move(journals));
}

Result<bool> undo(const Target& target)
{
    GPUCTR_TRY(const auto owner, owner_in(target));
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    const Actor actor = {owner, visit.table()};
    GPUCTR_TRY(const RootId root, RootId::of(target.rootfs_fd));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory, target.rootfs_fd));
    if (!store)
        return false;
    GPUCTR_TRY(const auto strays, find_strays(*store, root, target.rootfs_fd, here, visit.table()));
    GPUCTR_TRY(auto journals, open_own(*store, root, !strays.empty()));
    if (!journals)
        return false;
    GPUCTR_CHECK(take_in(*store, strays, *journals));
    GPUCTR_TRY(const auto keys, keys_of(root, target.rootfs_fd, here, *journals));
    mount::LivingNamespaces living;
    bool found = false;
    for (const SetUpKey& key : keys) {
        GPUCTR_TRY(const Origin origin,
                   origin_of(key, here, living, target.rootfs_fd, visit.table()));
        if (!is_ours(origin))
            continue;
        GPUCTR_TRY(Journal journal, read_for(root, target.rootfs_fd, here, key, *journals));
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, target.rootfs_fd, *journals, Bind::undo, actor), "undo");
        found = true;
    }
    GPUCTR_CHECK(visit.leave());
    return found;
}

Result<Reached> reach(const Journal& journal, const Viewpoint& here)
{
    if (journal.root_path.empty())
        return Reached();
    UniqueFd root(::open(journal.root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return Reached();
    if (!root)
        return Error::from_errno(errno, journal.root_path, Errc::rootfs)
            .with_object(journal.root_path);
    GPUCTR_TRY(const RootId found, RootId::of(root.get()));
    return is_of(journal, found, root.get(), here) ? Reached{std::move(root), found} : Reached();
}

namespace {

bool has(const std::vector<SetUpKey>& keys, const SetUpKey& key)
{
    return std::any_of(keys.begin(), keys.end(),
                       [&](const SetUpKey& found) { return file_name(found) == file_name(key); });
}

/// Has the journals be those of the number that the root has now.
Result<RootJournals> follow(const JournalStore& store, Stray stray, const Reached& reached,
                            const Viewpoint& here)
{
    GPUCTR_TRY(auto journals, store.create_root({reached.root.device, reached.root.inode}));
    renumber(stray.journal, reached.root, reached.fd.get(), here);
    std::vector<Stray> strays;
    strays.push_back(std::move(stray));
    GPUCTR_CHECK(take_in(store, strays, journals));
    return journals;
}

} // namespace

Result<Undone> undo_set_up(RootName root, const SetUpKey& key, const std::string& state_directory)
{
    GPUCTR_TRY(const auto store, JournalStore::open(state_directory, -1));
    if (!store)
        return Undone::undone;
    GPUCTR_TRY(auto journals, store->open_root(root, JournalStore::Lock::exclusive));
    if (!journals)
        return Undone::undone;
    // What a set-up left that was cut off before it had a journal goes as well.
    GPUCTR_TRY(const auto keys, journals->keys());
    if (!has(keys, key))
        return Undone::undone;
    GPUCTR_TRY(Journal journal, journals->read(key));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const Reached reached, reach(journal, here));
    GPUCTR_CHECK(store->check_outside(reached.fd.get()));
    mount::LivingNamespaces living;
    GPUCTR_TRY(const Origin origin, origin_of(key, here, living, reached.fd.get()));
    if (!is_ours(origin))
        return Undone::left;
    if (reached.fd) {
        const std::string path = journal.root_path;
        if (reached.root.device != root.first) {
            journals.reset(); // never wait for one lock with another in hand
            GPUCTR_TRY(auto own, follow(*store, {root, std::move(journal)}, reached, here));
            journals.emplace(std::move(own));
            GPUCTR_TRY(const auto moved, journals->keys());
            if (!has(moved, key))
                return Undone::undone;
        }
        GPUCTR_TRY(journal, read_for(reached.root, reached.fd.get(), here, key, *journals));
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, reached.fd.get(), *journals, Bind::undo), "undo {}",
                     path);
        return Undone::undone;
    }
    if (!may_be_forgotten(journal))
        return Undone::left;
    GPUCTR_CHECK(journals->remove(key));
    return Undone::forgotten;
}

} // namespace gpucontainer::apply
