// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "journal/origin.hpp"
#include "journal/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::journal {

/// A root file system on its topmost mount, whatever descriptor refers to it. A set-up bind mounts
/// the directory on itself: a descriptor from before is on the mount below, and one from a set-up
/// that was undone is on no mount.
class SeenRoot {
public:
    /// For the root of a process, the descriptor is used as it is: the process would see no mount
    /// over its root.
    /// Call it before waiting for a lock: once a mount is gone, its path is unknown.
    static Result<SeenRoot> of(int rootfs_fd, bool of_process);

    /// Finds the topmost mount there now, if it is the same directory.
    void look();

    int fd() const noexcept { return uppermost_ ? uppermost_.get() : given_; }
    /// Whether it is on another mount than the caller's descriptor.
    bool is_elsewhere() const noexcept { return static_cast<bool>(uppermost_); }
    const RootId& id() const noexcept { return id_; }
    /// Path of the directory. "" if it is unknown, and for the root of a process, whose path is
    /// only valid in its own mount namespace.
    const std::string& path() const noexcept { return path_; }
    bool is_of_process() const noexcept { return of_process_; }
    /// Whether another directory is mounted over it.
    bool is_covered() const noexcept { return covered_; }
    /// Whether the caller's descriptor is on a mount of this namespace.
    bool is_mounted() const noexcept { return mounted_; }

private:
    SeenRoot(int rootfs_fd, bool of_process) noexcept : given_(rootfs_fd), of_process_(of_process)
    {
    }
    base::UniqueFd open_uppermost();

    int given_;
    bool of_process_;
    bool mounted_ = false;
    bool covered_ = false;
    RootId id_;
    std::string path_;
    base::UniqueFd uppermost_;
};

/// Set-ups of this mount namespace that are hidden at a root's path, because somebody else mounted
/// over them. The directory may be another one.
class HiddenSetUps {
public:
    HiddenSetUps(const SeenRoot& root, const Viewpoint& here) noexcept : root_(root), here_(here) {}

    bool contain(const SetUpKey& key);
    /// Whether the store has a hidden set-up of any root.
    Result<bool> are_in(const JournalStore& store);

    /// Where a hidden set-up is; none if it is out of reach from here.
    static std::optional<std::string> path_of(const Journal& journal, const Viewpoint& here);
    static Error error(const std::string& path);

private:
    void look();

    const SeenRoot& root_;
    const Viewpoint& here_;
    std::optional<std::vector<std::uint64_t>> mounts_; ///< Ids of the mounts at the root's path.
};

} // namespace gpucontainer::journal
