// SPDX-License-Identifier: MIT
#include "privilege/file_owner.hpp"

#include <sys/fsuid.h>

namespace gpucontainer::privilege {

// The group first: the right to change it may go with the user.
FileOwner::FileOwner(uid_t uid, gid_t gid) noexcept
    : gid_before_(static_cast<gid_t>(::setfsgid(gid))),
      uid_before_(static_cast<uid_t>(::setfsuid(uid)))
{
}

FileOwner::~FileOwner()
{
    (void)::setfsuid(uid_before_);
    (void)::setfsgid(gid_before_);
}

} // namespace gpucontainer::privilege
