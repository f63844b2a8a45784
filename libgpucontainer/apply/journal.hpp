// SPDX-License-Identifier: MIT
#pragma once

#include "apply/program.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpucontainer::apply {

/// Which root file system, seen from where. Mount and namespace have no meaning
/// after a reboot; the files in it have.
struct RootKey {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t mount_namespace = 0;
    std::string boot_id;

    /// Of the directory behind `rootfs_fd` in the caller's mount namespace.
    static Result<RootKey> of(int rootfs_fd);
};

/// Identity of the mount namespace that a /proc/PID/ns/mnt names; 0 when it may
/// not be asked. Never reused since Linux 6.11, the file's inode before.
std::uint64_t mount_namespace_of(const std::string& path);

/// One set-up: what apply did to a root, to be undone by any later process.
struct Journal {
    std::string file; ///< Its name in the store.
    RootKey key;
    std::uint64_t mount_id = 0;   ///< Of the mount that the root is seen on.
    bool bound_on_itself = false; ///< That mount is ours.
    int mounts_below = 0;         ///< How many the bind brought along.
    bool committed = false;       ///< Else apply was cut off somewhere.
    bool writes_root = false;
    std::string identity;
    std::string tree_path;
    Block program; ///< Without descriptors.
};

/// The directory that journals are kept in, locked for as long as this lives:
/// of two operations at once, one waits.
class JournalStore {
public:
    /// Creates the directory, private to its owner, where it is missing.
    static Result<JournalStore> open(const std::string& directory);

    /// Journals of one root file system, of any boot and namespace.
    Result<std::vector<Journal>> find(const RootKey& key) const;
    Result<void> write(Journal& journal, const Program& program) const;
    Result<void> remove(const Journal& journal) const;

private:
    explicit JournalStore(base::UniqueFd directory, base::UniqueFd lock)
        : directory_(std::move(directory)), lock_(std::move(lock))
    {
    }

    Error discard(const std::string& temporary) const;

    base::UniqueFd directory_;
    base::UniqueFd lock_;
};

} // namespace gpucontainer::apply
