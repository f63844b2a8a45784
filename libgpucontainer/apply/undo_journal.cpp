// SPDX-License-Identifier: MIT
#include "apply/undo_journal.hpp"

#include "apply/cache_cleaning.hpp"
#include "apply/device_rules.hpp"
#include "apply/failure.hpp"
#include "apply/in_name_of.hpp"
#include "apply/left_nodes.hpp"
#include "apply/recovery.hpp"
#include "base/own_proc.hpp"
#include "base/try.hpp"
#include "mount/detach.hpp"
#include "privilege/capabilities.hpp"
#include "program/directory_times.hpp"
#include "program/executor.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace gpucontainer::apply {

using journal::Journal;
using journal::Progress;
using journal::RootJournals;
using program::Failure;
using program::Program;
namespace {

/// Of an ended namespace only names are left, which their owner may remove.
bool has_mounts(const Journal& journal, const Program& program)
{
    return journal.bound_on_itself || journal.progress == Progress::begun
           || std::ranges::any_of(program.operations(), [](const program::Operation& operation) {
                  return is_mount(operation) && operation.done != 0;
              });
}

} // namespace

Result<bool> is_bound_by(const Journal& journal, int rootfs_fd)
{
    if (!journal.bound_on_itself)
        return false;
    return journal::is_seen_on(rootfs_fd, journal.key.mount_id);
}

bool unbind(int rootfs_fd, int mounts_below)
{
    const int count = mount::count_below(rootfs_fd);
    if (count < 0)
        return errno == EXDEV; // it stays there
    return count > mounts_below || mount::detach_uncovered(rootfs_fd) == 0;
}

/// What an interrupted apply() or undo_journal() was doing, as far as it is known.
std::int64_t cut_off_since(const Journal& journal)
{
    return journal.progress == Progress::complete ? 0 : journal.changing_since;
}

/// Keeps the first of several failures.
class First {
public:
    /// For the failure of the next step.
    Failure& slot() noexcept { return complete_ ? first_ : later_; }
    void note(bool succeeded) noexcept { complete_ = complete_ && succeeded; }
    bool is_complete() const noexcept { return complete_; }
    const Failure& failure() const noexcept { return first_; }

private:
    bool complete_ = true;
    Failure first_;
    Failure later_;
};

/// Undoes each step in the root as the owner of its names. Writes the journal in between as the
/// caller.
class Undoing {
public:
    Undoing(Journal& journal, int rootfs_fd, RootJournals& journals, Keep keep, const Actor& actor)
        : journal_(journal), program_(journal.program.get()), rootfs_fd_(rootfs_fd),
          journals_(journals), keep_(keep), actor_(actor), table_(actor.table)
    {
    }

    /// What could not be undone stays in the journal.
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
        // While it is not known what there is of it, perhaps because our mounts hide it, it must
        // be looked for.
        const Progress progress =
            begun && !first_.is_complete() ? Progress::begun : Progress::partly_undone;
        settle(progress);
        step([&](Failure& failure) { return undo_names(program_, rootfs_fd_, failure, table_); });
        journal_.progress = progress;
        const bool rules_stay = keeps_rules();
        if (!rules_stay)
            first_.note(undo_rules(first_.slot()));
        if (first_.is_complete() && !rules_stay)
            return {};
        GPUCTR_CHECK(journals_.write(journal_, program_));
        if (first_.is_complete())
            return {};
        return to_error(first_.failure());
    }

    bool keeps_rules() const
    {
        return keep_ == Keep::bind_and_rules && !journal_.grant.rules.empty();
    }

    bool restore_times() const
    {
        Failure failure;
        return in_name_of(actor_.owner, failure,
                          [&] { return program::restore_times(program_, rootfs_fd_, table_); });
    }

    void report_left_nodes(std::int64_t since) const
    {
        Failure failure;
        (void)in_name_of(actor_.owner, failure, [&] {
            std::ranges::move(find_left_nodes(journal_, since, rootfs_fd_),
                              std::back_inserter(*actor_.findings));
            return true;
        });
    }

    /// The removal of names must be on disk before their journal is removed.
    void synchronize() const
    {
        Failure failure;
        (void)in_name_of(actor_.owner, failure, [&] {
            synchronize_directories(program_, rootfs_fd_, table_);
            return true;
        });
    }

private:
    template <typename Work>
    bool step(Work work)
    {
        Failure& failure = first_.slot();
        const bool done = in_name_of(actor_.owner, failure, [&] { return work(failure); });
        first_.note(done);
        return done;
    }

    /// Works as the caller, because nothing of it belongs to the container.
    bool undo_rules(Failure& failure)
    {
        const auto done = take_back_rules(journal_, program_, journals_);
        if (!done)
            failure = {done.error().code(), done.error().os_error(),
                       "take back what was allowed in the device cgroup",
                       journal_.grant.group.c_str()};
        return done.has_value();
    }

    /// Writes the times of directories into the journal before names are removed. After an
    /// interruption, only that tells whose change it was.
    void settle(Progress progress)
    {
        const bool settled = step([&](Failure& failure) {
            return settle_times(program_, rootfs_fd_, cut_off_since(journal_), failure, table_);
        });
        if (std::ranges::all_of(program_.operations(), program::is_mount))
            return;
        journal_.progress = progress;
        // If the journal cannot be written, undo must still work. A directory that is not settled
        // yet was changed after the time in the journal.
        if (settled)
            (void)journals_.write_before_changes(journal_, program_);
        else
            (void)journals_.write(journal_, program_);
    }

    Journal& journal_;
    Program program_;
    int rootfs_fd_;
    RootJournals& journals_;
    Keep keep_;
    const Actor& actor_;
    int table_;
    First first_;
};

Result<void> require_privileges(const Journal& journal)
{
    const bool mounts = has_mounts(journal, Program(journal.program.get()));
    return mounts ? privilege::require_mounting() : Result<void>();
}

Result<void> undo_journal(Journal& journal, int rootfs_fd, RootJournals& journals, Keep keep,
                          const Actor& actor)
{
    const Program program(journal.program.get());
    GPUCTR_CHECK(require_privileges(journal));
    if (has_mounts(journal, program))
        GPUCTR_CHECK(base::open_own_descriptors());
    const bool cut_off = journal.progress != Progress::complete;
    const std::int64_t since = beginning_of(journal);
    Undoing undoing(journal, rootfs_fd, journals, keep, actor);
    GPUCTR_CHECK(undoing.take_back());
    if (actor.findings != nullptr)
        undoing.report_left_nodes(since);
    if (cut_off && !undoing.restore_times())
        return Error::from_errno(errno, "give directories their times back", Errc::apply);
    Result<void> cleaned;
    if (journal.writes_root)
        cleaned =
            clean_loader_cache(program, rootfs_fd, journal.tree_path, actor.owner, actor.table);
    if (journal.persistent)
        undoing.synchronize();
    GPUCTR_TRY(const bool bound, is_bound_by(journal, rootfs_fd));
    if (bound && keep != Keep::nothing)
        return {};
    if (bound && !unbind(rootfs_fd, journal.mounts_below))
        return Error::from_errno(errno, "unmount the root file system's bind", Errc::apply);
    if (!undoing.keeps_rules())
        GPUCTR_CHECK(journals.remove(journal.key));
    // A set-up that replaces it writes a new loader cache.
    return keep != Keep::nothing ? Result<void>() : std::move(cleaned);
}

} // namespace gpucontainer::apply
