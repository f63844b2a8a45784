// SPDX-License-Identifier: MIT
#include "privilege/file_owner.hpp"

#include <sys/fsuid.h>
#include <sys/prctl.h>

namespace gpucontainer::privilege {

// The group first: the right to change it may go with the user.
FileOwner::FileOwner(uid_t uid, gid_t gid) noexcept : dumpable_(::prctl(PR_GET_DUMPABLE))
{
    if (const auto sets = CapabilitySets::read())
        capabilities_ = *sets;
    (void)::prctl(PR_GET_PDEATHSIG, &death_signal_);
    gid_before_ = static_cast<gid_t>(::setfsgid(gid));
    uid_before_ = static_cast<uid_t>(::setfsuid(uid));
}

FileOwner::~FileOwner()
{
    (void)::setfsuid(uid_before_);
    (void)::setfsgid(gid_before_);
    // Those about files come back as far as they are permitted, used before or not.
    if (capabilities_)
        (void)capabilities_->write();
    if (dumpable_ == 1)
        (void)::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
    if (death_signal_ != 0)
        (void)::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(death_signal_), 0UL, 0UL, 0UL);
}

} // namespace gpucontainer::privilege
