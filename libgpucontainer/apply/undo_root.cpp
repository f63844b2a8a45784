// SPDX-License-Identifier: MIT
#include "apply/device_access.hpp"
#include "apply/in_name_of.hpp"
#include "apply/renumbered.hpp"
#include "apply/seen_root.hpp"
#include "apply/undo.hpp"
#include "base/file.hpp"
#include "base/in_root.hpp"
#include "base/try.hpp"
#include "mount/calls.hpp"
#include "mount/namespace.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

Whereabouts look_for_names(const Journal& journal, const Viewpoint& here)
{
    return journal.ground ? look_for(*journal.ground, journal.key.from.boot_id == here.boot_id)
                          : Whereabouts();
}

/// Nothing of the set-up can be left in a root that was not reached.
bool may_be_forgotten(const Journal& journal, const Viewpoint& here)
{
    return !journal.writes_root || look_for_names(journal, here).state == Whereabouts::State::gone;
}

/// Of a directory that is gone with all that was in it. What was allowed in a device cgroup is
/// not: the journal stays until that can be taken back.
Result<void> forget(const SetUpKey& key, const Viewpoint& here, RootJournals& journals)
{
    auto journal = journals.read(key);
    if (!journal && base::leaves_open(journal.error().os_error()))
        return {};
    if (journal && key.from.boot_id == here.boot_id
        && !take_back_rules(*journal, Program(journal->program.get()), journals))
        return {};
    return journals.remove(key);
}

} // namespace

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
            GPUCTR_CHECK(forget(key, here, journals));
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

namespace {

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

/// The undo of all that is set up in one root.
class UndoOfRoot {
public:
    UndoOfRoot(const SeenRoot& root, const Viewpoint& here, const Actor& actor)
        : root_(root), here_(here), actor_(actor), hidden_(root, here)
    {
    }

    Result<void> take_back(RootJournals& journals)
    {
        GPUCTR_TRY(const auto keys, keys_of(root_.id(), root_.fd(), here_, journals));
        mount::LivingNamespaces living;
        for (const SetUpKey& key : keys) {
            GPUCTR_TRY(const Origin origin,
                       origin_of(key, here_, living, root_.fd(), actor_.table));
            if (!is_ours(origin)) {
                pass_over(key, origin, journals);
                continue;
            }
            GPUCTR_TRY(Journal journal, read_for(root_.id(), root_.fd(), here_, key, journals));
            forget_lost_mounts(journal, origin);
            GPUCTR_CHECK(undo_journal(journal, root_.fd(), journals, Keep::nothing, actor_),
                         "undo");
            found_ = true;
        }
        return {};
    }

    /// That nothing is left which the caller may mean.
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
    HiddenSetUps hidden_;
    bool found_ = false;
    bool is_hidden_ = false;
    std::string elsewhere_; ///< Where such a set-up is, on another mount.
};

} // namespace

Result<bool> undo(const Target& target)
{
    GPUCTR_TRY(const auto owner, owner_in(target));
    GPUCTR_TRY(auto visit, mount::NamespaceVisit::enter(target.pidfd));
    const Actor actor = {owner, visit.table(), target.warnings};
    GPUCTR_TRY(SeenRoot root, SeenRoot::of(target));
    root.look();
    GPUCTR_TRY(const Viewpoint here, Viewpoint::current());
    GPUCTR_TRY(const auto store, JournalStore::open(target.state_directory, target.rootfs_fd));
    if (!store)
        return false;
    GPUCTR_TRY(const auto strays, find_strays(*store, root.id(), root.fd(), here, visit.table()));
    GPUCTR_TRY(auto journals, open_own(*store, root.id(), !strays.empty()));
    UndoOfRoot undoing(root, here, actor);
    if (journals) {
        root.look(); // as it is since the lock was had
        GPUCTR_CHECK(take_in(*store, strays, *journals));
        GPUCTR_CHECK(undoing.take_back(*journals));
    }
    GPUCTR_CHECK(visit.leave());
    GPUCTR_CHECK(undoing.check_rest(*store), "undo");
    return undoing.has_found();
}

namespace {

Result<Reached> reach_at(const std::string& path, const Journal& journal, const Viewpoint& here)
{
    UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return Reached();
    if (!root)
        return Error::from_errno(errno, path, Errc::rootfs).with_object(path);
    GPUCTR_TRY(const RootId found, RootId::of(root.get()));
    return is_of(journal, found, root.get(), here) ? Reached{std::move(root), found} : Reached();
}

Result<Reached> reach_by_path(const Journal& journal, const Viewpoint& here)
{
    if (journal.root_path.empty())
        return Reached();
    GPUCTR_TRY(Reached found, reach_at(journal.root_path, journal, here));
    if (found.fd && mount::is_on(found.fd.get(), journal.key.mount_id))
        return found;
    // Its mount may have been moved, or the directory that it is on renamed.
    const auto path = HiddenSetUps::path_of(journal, here);
    if (!path || *path == journal.root_path)
        return found;
    if (auto moved = reach_at(*path, journal, here); moved && moved->fd)
        return moved;
    return found;
}

/// Where the names of the set-up are, for a root without a path or at another one.
Reached reach_by_ground(const Journal& journal, const Viewpoint& here)
{
    if (!journal.ground)
        return {};
    const std::string path =
        journal.ground->is_layer ? journal.ground->shown_at : look_for_names(journal, here).path;
    auto found = path.empty() ? Reached() : reach_at(path, journal, here);
    return found ? *std::move(found) : Reached();
}

} // namespace

Result<Reached> reach(const Journal& journal, const Viewpoint& here)
{
    GPUCTR_TRY(Reached found, reach_by_path(journal, here));
    return found.fd ? std::move(found) : reach_by_ground(journal, here);
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

std::string path_of(const Journal& journal, const Reached& reached)
{
    if (!journal.root_path.empty() || !reached.fd)
        return journal.root_path;
    const auto path = base::path_of(reached.fd.get());
    return path ? *path : "";
}

Result<Undone> undo_set_up(RootName root, const SetUpKey& key, const Target& where)
{
    GPUCTR_TRY(const auto store, JournalStore::open(where.state_directory, -1));
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
    if (origin == Origin::another_mount)
        if (const auto path = HiddenSetUps::path_of(journal, here))
            return HiddenSetUps::error(*path).context("undo");
    if (!is_ours(origin))
        return Undone::left;
    if (reached.fd) {
        const std::string path = path_of(journal, reached);
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
        const Actor caller = {.warnings = where.warnings};
        GPUCTR_CHECK(undo_journal(journal, reached.fd.get(), *journals, Keep::nothing, caller),
                     "undo {}", path);
        return Undone::undone;
    }
    if (!may_be_forgotten(journal, here))
        return Undone::left;
    forget_lost_mounts(journal, origin);
    GPUCTR_CHECK(take_back_rules(journal, Program(journal.program.get()), *journals), "undo");
    GPUCTR_CHECK(journals->remove(key));
    return Undone::forgotten;
}

} // namespace gpucontainer::apply
