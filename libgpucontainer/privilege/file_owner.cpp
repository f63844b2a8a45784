// SPDX-License-Identifier: MIT
#include "privilege/file_owner.hpp"

#include <cerrno>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::privilege {
namespace {

/// Of this thread alone, which the C library's function does not offer.
bool set_groups(const std::vector<gid_t>& groups) noexcept
{
    return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> current_groups()
{
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    if (!groups.empty())
        (void)::getgroups(count, groups.data());
    return groups;
}

/// Neither call tells whether it failed: they answer with the id of before.
constexpr auto no_id = static_cast<uid_t>(-1);

} // namespace

Owner file_owner() noexcept
{
    return {static_cast<uid_t>(::setfsuid(no_id)), static_cast<gid_t>(::setfsgid(no_id))};
}

FileOwner::FileOwner(const std::optional<Owner>& owner) : before_(file_owner())
{
    if (!owner || *owner == before_)
        return;
    is_him_ = become(*owner);
}

// The groups first: the right to change them may go with the user.
bool FileOwner::become(const Owner& owner)
{
    groups_ = current_groups();
    auto sets = CapabilitySets::read();
    if (!sets) {
        errno = sets.error().os_error();
        return false;
    }
    capabilities_ = *sets;
    dumpable_ = ::prctl(PR_GET_DUMPABLE);
    (void)::prctl(PR_GET_PDEATHSIG, &death_signal_);
    changed_ = true;
    if (!groups_.empty() && !set_groups({}))
        return false;
    (void)::setfsgid(owner.gid);
    (void)::setfsuid(owner.uid);
    errno = EPERM;
    return file_owner() == owner;
}

FileOwner::~FileOwner()
{
    if (!changed_)
        return;
    const int saved = errno;
    (void)::setfsuid(before_.uid);
    (void)::setfsgid(before_.gid);
    if (!groups_.empty())
        (void)set_groups(groups_);
    // Those about files come back as far as they are permitted, used before or not.
    if (capabilities_)
        (void)capabilities_->write();
    if (dumpable_ == 1)
        (void)::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
    if (death_signal_ != 0)
        (void)::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(death_signal_), 0UL, 0UL, 0UL);
    errno = saved;
}

} // namespace gpucontainer::privilege
