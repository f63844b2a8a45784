// SPDX-License-Identifier: MIT
#include "apply/undo.hpp"

#include "apply/device_rules.hpp"
#include "apply/in_name_of.hpp"
#include "apply/reach.hpp"
#include "apply/set_ups.hpp"
#include "apply/undo_journal.hpp"
#include "base/try.hpp"
#include "journal/renumbered.hpp"
#include "journal/seen_root.hpp"
#include "mount/namespace.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::apply {

using journal::HiddenSetUps;
using journal::JournalStore;
using journal::Origin;
using journal::RootJournals;
using journal::SeenRoot;
using journal::SetUpKey;
using journal::Viewpoint;
namespace {

/// None if the root has no journal.
Result<std::optional<RootJournals>> open_own(const JournalStore& store, const journal::RootId& root,
                                             bool create, bool dry_run)
{
    const journal::RootName name(root.device, root.inode);
    if (dry_run)
        return store.open_root(name, JournalStore::Lock::shared);
    if (!create)
        return store.open_root(name, JournalStore::Lock::exclusive);
    GPUCTR_TRY(auto journals, store.create_root(name));
    return std::optional(std::move(journals));
}

/// Undoes all set-ups of one root.
class UndoOfRoot {
public:
    UndoOfRoot(const SeenRoot& root, const Viewpoint& here, const Actor& actor, bool dry_run)
        : root_(root), here_(here), actor_(actor), dry_run_(dry_run), hidden_(root, here)
    {
    }

    /// Set-ups that are kept under an old number of the root. For a dry run.
    Result<void> count(const std::vector<journal::Stray>& strays)
    {
        for (const journal::Stray& stray : strays) {
            GPUCTR_CHECK(require_privileges(stray.journal), "undo");
            found_ = true;
        }
        return {};
    }

    Result<void> take_back(RootJournals& journals)
    {
        const SeenFrom seen = {root_.id(), root_.fd(), here_, actor_.table, dry_run_};
        GPUCTR_TRY(const auto set_ups, find_set_ups(seen, journals));
        for (const auto& [key, origin] : set_ups) {
            if (!is_ours(origin)) {
                pass_over(key, origin, journals);
                continue;
            }
            GPUCTR_TRY(journal::Journal journal, read_for(seen, key, journals));
            forget_lost_mounts(journal, origin);
            GPUCTR_CHECK(dry_run_
                             ? require_privileges(journal)
                             : undo_journal(journal, root_.fd(), journals, Keep::nothing, actor_),
                         "undo");
            found_ = true;
        }
        return {};
    }

    /// An error if a set-up is left that the caller may mean.
    Result<void> check_rest(const JournalStore& store)
    {
        if (is_hidden_)
            return HiddenSetUps::error(root_.path());
        if (found_)
            return {};
        if (!elsewhere_.empty())
            return Error(Errc::apply, "the mount that the descriptor is on is gone, and the "
                                      "directory is set up at "
                                          + elsewhere_)
                .with_object(elsewhere_)
                .with_hint("open it there");
        GPUCTR_TRY(const bool hidden, hidden_.are_in(store));
        return hidden ? HiddenSetUps::error(root_.path()) : Result<void>();
    }

    bool has_found() const noexcept { return found_; }

private:
    void pass_over(const SetUpKey& key, Origin origin, const RootJournals& journals)
    {
        is_hidden_ = is_hidden_ || hidden_.contain(key);
        if (origin != Origin::another_mount || root_.is_mounted() || root_.is_of_process())
            return;
        if (const auto journal = journals.read(key))
            elsewhere_ = HiddenSetUps::path_of(*journal, here_).value_or("");
    }

    const SeenRoot& root_;
    const Viewpoint& here_;
    const Actor& actor_;
    bool dry_run_;
    HiddenSetUps hidden_;
    bool found_ = false;
    bool is_hidden_ = false;
    std::string elsewhere_; ///< Path of such a set-up on another mount.
};

} // namespace

Result<bool> undo(const Target& target)
{
    GPUCTR_TRY(const auto owner, owner_in(target));
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    const Actor actor = {owner, visit.table(), target.findings};
    GPUCTR_TRY(SeenRoot root, SeenRoot::of(target.rootfs_fd, target.pidfd >= 0));
    root.look();
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory, target.rootfs_fd));
    if (!store)
        return false;
    GPUCTR_TRY(const auto strays, find_strays(*store, root.id(), root.fd(), here, visit.table()));
    GPUCTR_TRY(auto journals, open_own(*store, root.id(), !strays.empty(), target.dry_run));
    UndoOfRoot undoing(root, here, actor, target.dry_run);
    if (journals) {
        root.look(); // again, after waiting for the lock
        GPUCTR_CHECK(target.dry_run ? store->require_writable()
                                    : take_in(*store, strays, *journals));
        GPUCTR_CHECK(undoing.take_back(*journals));
    }
    if (target.dry_run)
        GPUCTR_CHECK(undoing.count(strays));
    GPUCTR_CHECK(visit.leave());
    GPUCTR_CHECK(undoing.check_rest(*store), "undo");
    return undoing.has_found();
}

namespace {

bool has(const std::vector<SetUpKey>& keys, const SetUpKey& key)
{
    return std::any_of(keys.begin(), keys.end(),
                       [&](const SetUpKey& found) { return file_name(found) == file_name(key); });
}

/// Moves the journals to the root's present device number.
Result<RootJournals> follow(const JournalStore& store, journal::Stray stray, const Reached& reached,
                            const Viewpoint& here)
{
    GPUCTR_TRY(auto journals, store.create_root({reached.root.device, reached.root.inode}));
    renumber(stray.journal, reached.root, reached.fd.get(), here);
    std::vector<journal::Stray> strays;
    strays.push_back(std::move(stray));
    GPUCTR_CHECK(take_in(store, strays, journals));
    return journals;
}

} // namespace

Result<Undone> undo_set_up(journal::RootName root, const SetUpKey& key, const Target& where)
{
    GPUCTR_TRY(const auto store, JournalStore::open(where.state_directory, -1));
    if (!store)
        return Undone::undone;
    GPUCTR_TRY(auto journals,
               store->open_root(root, where.dry_run ? JournalStore::Lock::shared
                                                    : JournalStore::Lock::exclusive));
    if (!journals)
        return Undone::undone;
    // Also removes what a set-up left that was interrupted before it had a journal.
    GPUCTR_TRY(const auto keys, journals->keys());
    if (!has(keys, key))
        return Undone::undone;
    GPUCTR_TRY(journal::Journal journal, journals->read(key));
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const Reached reached, reach(journal, here));
    GPUCTR_CHECK(store->check_outside(reached.fd.get()));
    mount::LivingNamespaces living;
    GPUCTR_TRY(const Origin origin, origin_of(key, here, living, reached.fd.get()));
    if (origin == Origin::another_mount)
        if (const auto path = HiddenSetUps::path_of(journal, here))
            return HiddenSetUps::error(*path).context("undo");
    if (!is_ours(origin) || (!reached.fd && !may_be_forgotten(journal, here)))
        return Undone::left;
    if (where.dry_run) {
        GPUCTR_CHECK(store->require_writable());
        forget_lost_mounts(journal, origin);
        GPUCTR_CHECK(require_privileges(journal), "undo");
        return reached.fd ? Undone::undone : Undone::forgotten;
    }
    if (reached.fd) {
        const std::string path = path_of(journal, reached);
        if (reached.root.device != root.first) {
            journals.reset(); // never wait for a lock while holding another
            GPUCTR_TRY(auto own, follow(*store, {root, std::move(journal)}, reached, here));
            journals.emplace(std::move(own));
            GPUCTR_TRY(const auto moved, journals->keys());
            if (!has(moved, key))
                return Undone::undone;
        }
        GPUCTR_TRY(journal, read_for({reached.root, reached.fd.get(), here}, key, *journals));
        forget_lost_mounts(journal, origin);
        const Actor caller = {.findings = where.findings};
        GPUCTR_CHECK(undo_journal(journal, reached.fd.get(), *journals, Keep::nothing, caller),
                     "undo {}", path);
        return Undone::undone;
    }
    forget_lost_mounts(journal, origin);
    GPUCTR_CHECK(take_back_rules(journal, program::Program(journal.program.get()), *journals),
                 "undo");
    GPUCTR_CHECK(journals->remove(key));
    return Undone::forgotten;
}

} // namespace gpucontainer::apply
