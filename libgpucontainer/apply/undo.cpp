// SPDX-License-Identifier: MIT
#include "apply/undo.hpp"

#include "apply/attach.hpp"
#include "apply/directory_times.hpp"
#include "apply/recovery.hpp"
#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/namespace.hpp"
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
        return true;
    if (journal.root_path.empty())
        return false;
    // What another file system hides, or is not mounted at the moment, is not gone.
    struct stat status = {};
    return ::stat(journal.root_path.c_str(), &status) != 0 || status.st_dev == journal.root.device;
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
    for (Operation& operation : Program(journal.program.get()).operations())
        if (is_mount(operation))
            operation.done = 0;
}

/// What apply() or undo_journal() was at when it was cut off, as far as it is known.
std::int64_t cut_off_since(const Journal& journal)
{
    return journal.progress == Progress::complete ? 0 : journal.changing_since;
}

/// Has the journal say which times directories are to have, before names are taken
/// away: in between only that tells whose change it was. Not being able to write
/// must not stand in the way of undo.
bool settle(Journal& journal, Progress progress, int rootfs_fd, RootJournals& journals,
            Failure& failure)
{
    const Program program(journal.program.get());
    const bool settled = settle_times(program, rootfs_fd, cut_off_since(journal), failure);
    const auto operations = program.operations();
    if (std::all_of(operations.begin(), operations.end(), is_mount))
        return true;
    journal.progress = progress;
    // A directory that is still to be settled was changed since the moment that it says.
    if (settled)
        (void)journals.write_before_changes(journal, program);
    else
        (void)journals.write(journal, program);
    return settled;
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

Result<void> undo_journal(Journal& journal, int rootfs_fd, RootJournals& journals, Bind bind,
                          int table)
{
    const Program program(journal.program.get());
    if (has_mounts(journal, program)) {
        GPUCTR_CHECK(privilege::require_mounting());
        GPUCTR_CHECK(base::open_own_descriptors());
    }
    const bool begun = journal.progress == Progress::begun;
    const bool cut_off = journal.progress != Progress::complete;
    First first;
    if (begun)
        first.note(adopt_mounts(program, rootfs_fd, first.slot()));
    first.note(undo_mounts(program, rootfs_fd, first.slot(), table));
    if (begun)
        first.note(adopt_names(program, rootfs_fd, journal.tree_path, first.slot()));
    // As long as it is not known what there is of it, also because mounts of ours hide
    // it, it has to be looked for.
    const Progress progress =
        begun && !first.is_complete() ? Progress::begun : Progress::partly_undone;
    first.note(settle(journal, progress, rootfs_fd, journals, first.slot()));
    first.note(undo_names(program, rootfs_fd, first.slot()));
    if (!first.is_complete()) {
        journal.progress = progress;
        GPUCTR_CHECK(journals.write(journal, program));
        return to_error(first.failure());
    }
    if (cut_off && !restore_times(program, rootfs_fd))
        return Error::from_errno(errno, "give directories their times back", Errc::apply);
    if (journal.writes_root)
        clean_loader_cache(program, rootfs_fd, journal.tree_path);
    // The names have to be gone for good before their journal is.
    if (journal.persistent)
        synchronize_directories(program, rootfs_fd);
    GPUCTR_TRY(const bool bound, is_bound_by(journal, rootfs_fd));
    if (bound && bind == Bind::keep)
        return {};
    if (bound && !unbind(rootfs_fd, journal.mounts_below))
        return Error::from_errno(errno, "unmount the root file system's bind", Errc::apply);
    return journals.remove(journal.key);
}

Result<std::vector<SetUpKey>> keys_of(const RootId& root, RootJournals& journals)
{
    GPUCTR_TRY(const auto keys, journals.keys());
    std::vector<SetUpKey> found;
    for (const SetUpKey& key : keys) {
        if (root.may_be({root.device, root.inode, key.root_birth_ns}))
            found.push_back(key);
        else
            GPUCTR_CHECK(journals.remove(key));
    }
    return found;
}

Result<bool> undo(const Target& target)
{
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    GPUCTR_TRY(const RootId root, RootId::of(target.rootfs_fd));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory));
    if (!store)
        return false;
    GPUCTR_TRY(auto journals,
               store->open_root({root.device, root.inode}, JournalStore::Lock::exclusive));
    if (!journals)
        return false;
    GPUCTR_TRY(const auto keys, keys_of(root, *journals));
    mount::LivingNamespaces living;
    bool found = false;
    for (const SetUpKey& key : keys) {
        GPUCTR_TRY(const Origin origin,
                   origin_of(key, here, living, target.rootfs_fd, visit.table()));
        if (!is_ours(origin))
            continue;
        GPUCTR_TRY(Journal journal, journals->read(key));
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, target.rootfs_fd, *journals, Bind::undo, visit.table()),
                     "undo");
        found = true;
    }
    GPUCTR_CHECK(visit.leave());
    return found;
}

Result<UniqueFd> reach(const Journal& journal)
{
    if (journal.root_path.empty())
        return UniqueFd();
    UniqueFd root(::open(journal.root_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return UniqueFd();
    if (!root)
        return Error::from_errno(errno, journal.root_path, Errc::rootfs)
            .with_object(journal.root_path);
    GPUCTR_TRY(const RootId found, RootId::of(root.get()));
    return found.may_be(journal.root) ? std::move(root) : UniqueFd();
}

Result<Undone> undo_set_up(RootName root, const SetUpKey& key, const std::string& state_directory)
{
    GPUCTR_TRY(const auto store, JournalStore::open(state_directory));
    if (!store)
        return Undone::undone;
    GPUCTR_TRY(auto journals, store->open_root(root, JournalStore::Lock::exclusive));
    if (!journals)
        return Undone::undone;
    // What a set-up left that was cut off before it had a journal goes as well.
    GPUCTR_TRY(const auto keys, journals->keys());
    const auto same = [&](const SetUpKey& found) { return file_name(found) == file_name(key); };
    if (std::none_of(keys.begin(), keys.end(), same))
        return Undone::undone;
    GPUCTR_TRY(Journal journal, journals->read(key));
    GPUCTR_TRY(const UniqueFd directory, reach(journal));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    mount::LivingNamespaces living;
    GPUCTR_TRY(const Origin origin, origin_of(key, here, living, directory.get()));
    if (!is_ours(origin))
        return Undone::left;
    if (directory) {
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(undo_journal(journal, directory.get(), *journals, Bind::undo), "undo {}",
                     journal.root_path);
        return Undone::undone;
    }
    if (!may_be_forgotten(journal))
        return Undone::left;
    GPUCTR_CHECK(journals->remove(key));
    return Undone::forgotten;
}

} // namespace gpucontainer::apply
