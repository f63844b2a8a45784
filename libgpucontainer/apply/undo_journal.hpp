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

/// What is left for a set-up that takes the place of the one that is undone, and the journal
/// with it, where there is any: the root's bind on itself, the rules of a device cgroup.
enum class Keep : std::uint8_t { nothing, bind, bind_and_rules };

/// Who works in a root, and from where.
struct Actor {
    std::optional<privilege::Owner> owner = std::nullopt; ///< None: the caller.
    int table = mount::own_table;                         ///< The mount table of this namespace.
    model::Findings* findings = nullptr;                  ///< As in Target.
};

/// Takes back what a journal says, and removes it; keeps in it what could not be
/// taken back, for the next attempt.
Result<void> undo_journal(journal::Journal& journal, int rootfs_fd, journal::RootJournals& journals,
                          Keep keep, const Actor& actor = {});

/// Whether the mount that the root is seen on is the journal's bind of it.
Result<bool> is_bound_by(const journal::Journal& journal, int rootfs_fd);

/// Unmounts a root's bind on itself unless somebody mounted more below it than
/// it brought along, or nothing tells. False when the kernel refused.
bool unbind(int rootfs_fd, int mounts_below);

} // namespace gpucontainer::apply
