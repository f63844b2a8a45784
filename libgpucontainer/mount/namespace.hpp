// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gpucontainer::mount {

/// Identity of the mount namespace that a /proc/PID/ns/mnt names; 0 when it may
/// not be asked. Never reused since Linux 6.11, the file's inode before.
std::uint64_t namespace_id(const std::string& path);

/// Same for the calling thread.
std::uint64_t current_namespace_id();

/// Which mount namespaces there still are. Asks the kernel for the one; only
/// where it does not know or does not tell are the processes looked through, and
/// that once in the lifetime of the object.
class LivingNamespaces {
public:
    bool contains(std::uint64_t id);

    /// The process of the lowest number in one; 0 where none is seen.
    int process_in(std::uint64_t id);

private:
    /// A process in each; none where they could not be looked through.
    using Processes = std::optional<std::map<std::uint64_t, int>>;
    const Processes& processes();

    Processes processes_;
};

/// The calling thread in the mount namespace of another process, for as long as
/// the object lives. Paths lead where they led before: root and working directory
/// stay those of the thread, so that no path is looked up in the container.
class NamespaceVisit {
public:
    /// With -1 stays where it is. Errors: permission; usage when the thread shares
    /// its working directory with others, as threads do by default, or `pidfd` is
    /// none; rootfs when the process has ended.
    static Result<NamespaceVisit> enter(int pidfd);

    NamespaceVisit(NamespaceVisit&&) noexcept = default;
    NamespaceVisit& operator=(NamespaceVisit&&) = delete;
    /// Leaves; without a way to say that it failed.
    ~NamespaceVisit();

    Result<void> leave();

    /// The mount table as the root of that namespace shows it, for as long as this
    /// lives: from the thread's own root, nothing there is reached. own_table for
    /// a thread that stays where it is.
    int table() const noexcept { return table_.get(); }

private:
    NamespaceVisit() = default;
    bool take_paths_along() const noexcept;

    base::UniqueFd home_; ///< The namespace to go back to; none when there already.
    base::UniqueFd table_;
    base::UniqueFd root_;
    base::UniqueFd directory_;
};

} // namespace gpucontainer::mount
