// SPDX-License-Identifier: MIT
#pragma once

#include "privilege/capability_sets.hpp"

#include <optional>
#include <sys/types.h>
#include <vector>

namespace gpucontainer::privilege {

/// A user and a group, by their ids in the calling thread's user namespace.
struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;

    bool operator==(const Owner&) const = default;
};

/// File system ids of the calling thread.
Owner file_owner() noexcept;

/// While this object lives, the calling thread accesses files as another owner: with the owner's
/// file system ids, and without its own supplementary groups and capabilities over files. The
/// destructor restores these, and what the kernel changes with them: whether the process is
/// dumpable, the thread's parent-death signal, and the effective capabilities.
class FileOwner {
public:
    /// Without an owner nothing changes. An owner with the thread's own ids still loses
    /// supplementary groups and capabilities over files.
    explicit FileOwner(const std::optional<Owner>& owner);
    FileOwner(const FileOwner&) = delete;
    FileOwner& operator=(const FileOwner&) = delete;
    ~FileOwner();

    /// False if the thread could not take the owner's ids; errno is from the constructor. Then
    /// nothing may be done in the owner's name.
    explicit operator bool() const noexcept { return is_him_; }

private:
    bool become(const Owner& owner);

    bool is_him_ = true;
    bool changed_ = false;
    Owner before_;
    std::vector<gid_t> groups_;
    std::optional<CapabilitySets> capabilities_;
    int dumpable_ = 0;
    int death_signal_ = 0;
};

} // namespace gpucontainer::privilege
