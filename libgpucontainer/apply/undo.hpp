// SPDX-License-Identifier: MIT
#pragma once

#include "apply/apply.hpp"
#include "apply/journal_store.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "mount/table.hpp"
#include "privilege/file_owner.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// What is left for a set-up that takes the place of the one that is undone, and the journal
/// with it, where there is any: the root's bind on itself, the rules of a device cgroup.
enum class Keep : std::uint8_t { nothing, bind, bind_and_rules };

/// Leaves of a journal of another boot or namespace what lasts: its mounts are gone,
/// and their identities may be those of others by now.
void forget_lost_mounts(Journal& journal, Origin origin);

/// Who works in a root, and from where.
struct Actor {
    std::optional<privilege::Owner> owner = std::nullopt; ///< None: the caller.
    int table = mount::own_table;                         ///< The mount table of this namespace.
    std::vector<std::string>* warnings = nullptr;         ///< As in Target.
};

/// Takes back what a journal says, and removes it; keeps in it what could not be
/// taken back, for the next attempt.
Result<void> undo_journal(Journal& journal, int rootfs_fd, RootJournals& journals, Keep keep,
                          const Actor& actor = {});

/// Whether the mount that the root is seen on is the journal's bind of it.
Result<bool> is_bound_by(const Journal& journal, int rootfs_fd);

/// Unmounts a root's bind on itself unless somebody mounted more below it than
/// it brought along, or nothing tells. False when the kernel refused.
bool unbind(int rootfs_fd, int mounts_below);

/// The set-ups of a root. Forgets those of a directory that had its device and
/// inode before, and is gone with all that was in it. Those of this namespace come
/// first: their mounts lie over names that those of others left.
Result<std::vector<SetUpKey>> keys_of(const RootId& root, int rootfs_fd, const Viewpoint& here,
                                      RootJournals& journals);

/// The journal of such a set-up, as it fits the root now.
Result<Journal> read_for(const RootId& root, int rootfs_fd, const Viewpoint& here,
                         const SetUpKey& key, const RootJournals& journals);

/// The root of a journal, at the path that it had, where its mount is now, or where its
/// names are; none when that leads nowhere or to another directory. The path is only a
/// hint: what it leads to is looked at.
struct Reached {
    base::UniqueFd fd;
    RootId root;
};
Result<Reached> reach(const Journal& journal, const Viewpoint& here);
/// What such a root is called: that of a container that ended has a path, too.
std::string path_of(const Journal& journal, const Reached& reached);

enum class Undone : std::uint8_t {
    undone,
    forgotten, ///< Its root is gone; the journal was removed.
    left,      ///< Lives in another namespace or on another mount, or cannot be reached.
};

/// Takes back one set-up of any root, where its journal says the root is; of `where` only
/// the state directory and who is told count.
Result<Undone> undo_set_up(RootName root, const SetUpKey& key, const Target& where);

} // namespace gpucontainer::apply
