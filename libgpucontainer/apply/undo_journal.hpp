// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "journal/store.hpp"
#include "mount/table.hpp"
#include "privilege/file_owner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// What stays for the set-up that replaces the one that is undone: the bind mount of the root on
/// itself, and rules of a device cgroup. If there is any, the journal stays too.
enum class Keep : std::uint8_t { nothing, bind, bind_and_rules };

/// The owner of names in a root, and how it is seen.
struct Actor {
    std::optional<privilege::Owner> owner = std::nullopt; ///< None: the caller.
    int table = mount::own_table;                         ///< The mount table of this namespace.
    model::Findings* findings = nullptr;                  ///< As in Target.
};

/// Whether this process may undo the mounts of a journal. Errors: permission.
Result<void> require_privileges(const journal::Journal& journal);

/// Undoes what a journal says, and removes the journal. What could not be undone stays in it for
/// the next attempt.
Result<void> undo_journal(journal::Journal& journal, int rootfs_fd, journal::RootJournals& journals,
                          Keep keep, const Actor& actor = {});

/// Whether the mount of the root is the journal's bind mount.
Result<bool> is_bound_by(const journal::Journal& journal, int rootfs_fd);

/// Unmounts a root's bind mount on itself, unless somebody mounted more below it than it copied,
/// or that is unknown. False if the kernel refused.
bool unbind(int rootfs_fd, int mounts_below);

} // namespace gpucontainer::apply
