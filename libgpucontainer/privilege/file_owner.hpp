// SPDX-License-Identifier: MIT
#pragma once

#include "privilege/capability_sets.hpp"

#include <optional>
#include <sys/types.h>

namespace gpucontainer::privilege {

/// Files that this thread creates belong to somebody else for as long as the
/// object lives. Without CAP_SETUID and CAP_SETGID they stay the thread's. What the
/// kernel changes along with it is given back too: whether the process is dumpable,
/// the thread's signal for the death of its parent, and which capabilities are effective.
class FileOwner {
public:
    FileOwner(uid_t uid, gid_t gid) noexcept;
    FileOwner(const FileOwner&) = delete;
    FileOwner& operator=(const FileOwner&) = delete;
    ~FileOwner();

private:
    std::optional<CapabilitySets> capabilities_;
    int dumpable_;
    int death_signal_ = 0;
    gid_t gid_before_;
    uid_t uid_before_;
};

} // namespace gpucontainer::privilege
