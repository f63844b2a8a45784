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

/// The calling thread's own, as far as files are concerned.
Owner file_owner() noexcept;

/// The calling thread as somebody else, as far as files are concerned, for as long as the
/// object lives: what it creates belongs to him, and it may do what he may, without the
/// thread's further groups and its capabilities about files. What the kernel changes along
/// with it is given back too: whether the process is dumpable, the thread's signal for
/// the death of its parent, and which capabilities are effective.
class FileOwner {
public:
    /// Without an owner nothing changes. The thread's own ids are not the same rights: of a
    /// user namespace that maps root to root, root has fewer.
    explicit FileOwner(const std::optional<Owner>& owner);
    FileOwner(const FileOwner&) = delete;
    FileOwner& operator=(const FileOwner&) = delete;
    ~FileOwner();

    /// False, with errno as the constructor left it, where the thread could not become
    /// him: nothing may be done in his name.
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
