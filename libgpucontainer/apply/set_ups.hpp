// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/store.hpp"
#include "mount/table.hpp"

#include <vector>

namespace gpucontainer::apply {

/// A root directory, and the mount namespace from which it is seen.
struct SeenFrom {
    const journal::RootId& root;
    int rootfs_fd;
    const journal::Viewpoint& here;
    int table = mount::own_table; ///< The mount table of this namespace.
    bool dry_run = false;         ///< No journal is removed.
};

/// A set-up of a root, and its origin.
struct FoundSetUp {
    journal::SetUpKey key;
    journal::Origin origin;
};

/// The set-ups of a root, under its lock. Removes journals of an earlier directory with the same
/// device and inode that is gone with all that was in it. Set-ups of this namespace come first:
/// their mounts cover names that others left.
Result<std::vector<FoundSetUp>> find_set_ups(const SeenFrom& seen, journal::RootJournals& journals);

/// The journal of such a set-up, with the present numbers of the root.
Result<journal::Journal> read_for(const SeenFrom& seen, const journal::SetUpKey& key,
                                  const journal::RootJournals& journals);

} // namespace gpucontainer::apply
