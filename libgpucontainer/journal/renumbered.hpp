// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/origin.hpp"
#include "journal/store.hpp"

#include <vector>

/// Journals of roots whose device gets another number with each mount. The number in the name of a
/// journal may now be that of another root, and many roots have the same inode, such as all
/// subvolumes of btrfs.
namespace gpucontainer::journal {

/// Whether a journal is that of a root. On a device that is renumbered, this needs proof: the root
/// has the same birth time, is on the journal's mount, or has one of its names as it was left. The
/// path of the root is no proof.
bool is_of(const Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here);

/// Sets the root's present numbers in a journal that is_of() the root.
void renumber(Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here);

/// A journal that is kept under an old device number of its root.
struct Stray {
    RootName name;
    Journal journal; ///< Has the present number.
};

/// Such journals of a root that may be undone from here. If the device keeps its number there are
/// none, and the store is not read. `table` is the mount table of this namespace.
Result<std::vector<Stray>> find_strays(const JournalStore& store, const RootId& root, int rootfs_fd,
                                       const Viewpoint& here, int table);

/// Moves journals to the root's directory in the store.
Result<void> take_in(const JournalStore& store, const std::vector<Stray>& strays,
                     RootJournals& journals);

} // namespace gpucontainer::journal
