// SPDX-License-Identifier: MIT
#include "apply/set_ups.hpp"

#include "apply/device_rules.hpp"
#include "base/file.hpp"
#include "base/try.hpp"
#include "journal/renumbered.hpp"

#include <algorithm>

namespace gpucontainer::apply {

using journal::RootJournals;
using journal::SetUpKey;
namespace {

/// Removes the journal of a directory that is gone with all that was in it. It stays while rules
/// in a device cgroup cannot be removed.
Result<void> forget(const SetUpKey& key, const journal::Viewpoint& here, RootJournals& journals)
{
    auto journal = journals.read(key);
    if (!journal && base::leaves_open(journal.error().os_error()))
        return {};
    if (journal && key.from.boot_id == here.boot_id
        && !take_back_rules(*journal, program::Program(journal->program.get()), journals))
        return {};
    return journals.remove(key);
}

Result<std::vector<SetUpKey>> keys_of(const SeenFrom& seen, RootJournals& journals)
{
    const auto& [root, rootfs_fd, here, table, dry_run] = seen;
    GPUCTR_TRY(const auto keys, journals.keys());
    std::vector<SetUpKey> found;
    for (const SetUpKey& key : keys) {
        journal::RootId there = root;
        there.birth_ns = key.root_birth_ns;
        const bool may_be = root.may_be(there);
        if (!may_be && !root.renumbered && !dry_run)
            GPUCTR_CHECK(forget(key, here, journals));
        if (!may_be)
            continue; // the other directory may exist with another device number
        // If the name says enough, the journal is not read.
        const bool told = root.birth_ns != 0 && key.root_birth_ns != 0 && root.subvolume == 0;
        if (root.renumbered && !told) {
            const auto journal = journals.read(key);
            if (journal && !is_of(*journal, root, rootfs_fd, here))
                continue;
        }
        found.push_back(key);
    }
    std::stable_partition(found.begin(), found.end(), [&here = here](const SetUpKey& key) {
        return key.from.mount_namespace == here.mount_namespace && key.from.boot_id == here.boot_id;
    });
    return found;
}

} // namespace

Result<std::vector<FoundSetUp>> find_set_ups(const SeenFrom& seen, RootJournals& journals)
{
    GPUCTR_TRY(const auto keys, keys_of(seen, journals));
    mount::LivingNamespaces living;
    std::vector<FoundSetUp> found;
    for (const SetUpKey& key : keys) {
        GPUCTR_TRY(const journal::Origin origin,
                   origin_of(key, seen.here, living, seen.rootfs_fd, seen.table));
        found.push_back({key, origin});
    }
    return found;
}

Result<journal::Journal> read_for(const SeenFrom& seen, const SetUpKey& key,
                                  const RootJournals& journals)
{
    GPUCTR_TRY(journal::Journal journal, journals.read(key));
    renumber(journal, seen.root, seen.rootfs_fd, seen.here);
    return journal;
}

} // namespace gpucontainer::apply
