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

/// A root file system as it is to be seen, whatever descriptor names it. A set-up binds a
/// directory on itself: what was opened before lies below that bind, and what was opened on
/// one that was undone is on no mount any more.
class SeenRoot {
public:
    /// Nothing is mounted over the root of a process that it would see: that is as it is.
    /// Before a lock is waited for: where a mount was is not to be told once it is gone.
    static Result<SeenRoot> of(int rootfs_fd, bool of_process);

    /// Finds what is uppermost there now, if that is the same directory.
    void look();

    int fd() const noexcept { return uppermost_ ? uppermost_.get() : given_; }
    /// On another mount than the caller's descriptor.
    bool is_elsewhere() const noexcept { return static_cast<bool>(uppermost_); }
    const RootId& id() const noexcept { return id_; }
    /// Of the directory; "" where it has none that can be told, and for the root of a process,
    /// whose path is one of its own mount namespace.
    const std::string& path() const noexcept { return path_; }
    bool is_of_process() const noexcept { return of_process_; }
    /// Another directory was mounted over it.
    bool is_covered() const noexcept { return covered_; }
    /// That the caller's descriptor is on a mount of this namespace.
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

/// Set-ups of this mount namespace that are where a root is to be seen, hidden by what
/// somebody else mounted over them: the directory may be another one.
class HiddenSetUps {
public:
    HiddenSetUps(const SeenRoot& root, const Viewpoint& here) noexcept : root_(root), here_(here) {}

    bool contain(const SetUpKey& key);
    /// Whether one of any root is.
    Result<bool> are_in(const JournalStore& store);

    /// Where a set-up is that is not to be seen there; none where that is not reached from here.
    static std::optional<std::string> path_of(const Journal& journal, const Viewpoint& here);
    static Error error(const std::string& path);

private:
    void look();

    const SeenRoot& root_;
    const Viewpoint& here_;
    std::optional<std::vector<std::uint64_t>> mounts_; ///< Numbers of those at the root's path.
};

} // namespace gpucontainer::journal
