// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace gpucontainer::mount {

/// Identity of the mount namespace at the path /proc/PID/ns/mnt; 0 if this is not permitted. Since
/// Linux 6.11 it is never reused; before, it is the inode of the file.
std::uint64_t namespace_id(const std::string& path);

/// The same for the calling thread.
std::uint64_t current_namespace_id();

/// Tells which mount namespaces still exist. The kernel is asked first. If it does not tell, all
/// processes are searched, once in the lifetime of the object.
class LivingNamespaces {
public:
    bool contains(std::uint64_t id);

    /// The process with the lowest number in a namespace; 0 if there is none.
    int process_in(std::uint64_t id);

private:
    /// A process in each namespace; none if they could not be searched.
    using Processes = std::optional<std::map<std::uint64_t, int>>;
    const Processes& processes();

    Processes processes_;
};

/// Puts the calling thread into the mount namespace of another process, as long as the object
/// lives. Root and working directory stay those of the thread, so that paths lead where they led
/// before, and no path is looked up in the container.
class NamespaceVisit {
public:
    /// With -1, the thread stays in its namespace. Errors: permission; usage, if the thread shares
    /// its working directory with others, as threads do by default, or `pidfd` is not a pidfd;
    /// rootfs, if the process has ended.
    static Result<NamespaceVisit> enter(int pidfd);

    NamespaceVisit(NamespaceVisit&&) noexcept = default;
    NamespaceVisit& operator=(NamespaceVisit&&) = delete;
    /// Leaves, but cannot report a failure.
    ~NamespaceVisit();

    Result<void> leave();

    /// The mount table as seen from the root of that namespace, as long as this object lives:
    /// nothing there can be reached from the thread's own root. own_table for a thread that stays
    /// in its namespace.
    int table() const noexcept { return table_.get(); }

private:
    NamespaceVisit() = default;
    bool take_paths_along() const noexcept;

    base::UniqueFd home_; ///< The namespace to return to; none if the thread is there.
    base::UniqueFd table_;
    base::UniqueFd root_;
    base::UniqueFd directory_;
};

} // namespace gpucontainer::mount
