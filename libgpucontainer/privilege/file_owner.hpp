// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

namespace gpucontainer::privilege {

/// Files that this thread creates belong to somebody else for as long as the
/// object lives. Without CAP_SETUID and CAP_SETGID they stay the thread's.
class FileOwner {
public:
    FileOwner(uid_t uid, gid_t gid) noexcept;
    FileOwner(const FileOwner&) = delete;
    FileOwner& operator=(const FileOwner&) = delete;
    ~FileOwner();

private:
    gid_t gid_before_;
    uid_t uid_before_;
};

} // namespace gpucontainer::privilege
