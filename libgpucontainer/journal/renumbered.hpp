// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/origin.hpp"
#include "journal/store.hpp"

#include <vector>

/// Journals of roots whose device gets its number anew with each mount: the number that
/// a journal is named after may be another root's by now, and the inode is the same for
/// many, such as all subvolumes of btrfs.
namespace gpucontainer::journal {

/// Whether a journal is that of a root. On a device that is renumbered with proof only:
/// the root was born at the same moment, is seen on the journal's mount, or has one of its
/// names just as it was left. Where the root was is no proof.
bool is_of(const Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here);

/// Has a journal that is_of() the root speak of it by its present numbers.
void renumber(Journal& journal, const RootId& root, int rootfs_fd, const Viewpoint& here);

/// A journal that is kept under another device number than its root has.
struct Stray {
    RootName name;
    Journal journal; ///< With the present one.
};

/// Those of a root which may be undone from here; none, and no look at the store, on a
/// device that keeps its number. `table` is the mount table of this namespace.
Result<std::vector<Stray>> find_strays(const JournalStore& store, const RootId& root, int rootfs_fd,
                                       const Viewpoint& here, int table);

/// Moves journals to the others of their root.
Result<void> take_in(const JournalStore& store, const std::vector<Stray>& strays,
                     RootJournals& journals);

} // namespace gpucontainer::journal
