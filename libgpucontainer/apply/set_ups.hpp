// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/store.hpp"
#include "mount/table.hpp"

#include <vector>

namespace gpucontainer::apply {

/// A root directory, and from where it is looked at.
struct SeenFrom {
    const journal::RootId& root;
    int rootfs_fd;
    const journal::Viewpoint& here;
    int table = mount::own_table; ///< The mount table of this namespace.
};

/// One set-up of a root, and whose it is.
struct FoundSetUp {
    journal::SetUpKey key;
    journal::Origin origin;
};

/// The set-ups of a root, under its lock. Forgets those of a directory that had its device and
/// inode before, and is gone with all that was in it. Those of this namespace come
/// first: their mounts lie over names that those of others left.
Result<std::vector<FoundSetUp>> find_set_ups(const SeenFrom& seen, journal::RootJournals& journals);

/// The journal of such a set-up, as it fits the root now.
Result<journal::Journal> read_for(const SeenFrom& seen, const journal::SetUpKey& key,
                                  const journal::RootJournals& journals);

} // namespace gpucontainer::apply
