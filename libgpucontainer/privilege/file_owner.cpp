// SPDX-License-Identifier: MIT
#include "privilege/file_owner.hpp"

#include "syscall/capabilities.hpp"

#include <cerrno>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::privilege {
namespace {

/// Sets the groups of this thread only. The C library's function sets those of all threads.
bool set_groups(const std::vector<gid_t>& groups) noexcept
{
    return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> current_groups()
{
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
    const int found = groups.empty() ? 0 : ::getgroups(count, groups.data());
    groups.resize(found > 0 ? static_cast<std::size_t>(found) : 0);
    return groups;
}

using syscall::bit;

/// Capabilities over files (the kernel's CAP_FS_MASK, and CAP_SETFCAP). setfsuid() drops them only
/// if it changes from root, and only without SECBIT_NO_SETUID_FIXUP.
constexpr std::uint64_t about_files = bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE)
                                      | bit(CAP_DAC_READ_SEARCH) | bit(CAP_FOWNER) | bit(CAP_FSETID)
                                      | bit(CAP_LINUX_IMMUTABLE) | bit(CAP_MKNOD)
                                      | bit(CAP_MAC_OVERRIDE) | bit(CAP_SETFCAP);

/// With this id, setfsuid() and setfsgid() change nothing and return the current id. They report
/// no errors.
constexpr auto no_change = static_cast<uid_t>(-1);

} // namespace

Owner file_owner() noexcept
{
    return {static_cast<uid_t>(::setfsuid(no_change)), static_cast<gid_t>(::setfsgid(no_change))};
}

FileOwner::FileOwner(const std::optional<Owner>& owner) : before_(file_owner())
{
    if (owner)
        is_him_ = become(*owner);
}

// Groups first: without the old user, the thread may lack the privilege to change them.
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
    CapabilitySets without = *capabilities_;
    without.effective &= ~about_files;
    if (auto dropped = without.write(); !dropped) {
        errno = dropped.error().os_error();
        return false;
    }
    const auto now = CapabilitySets::read();
    errno = EPERM;
    return file_owner() == owner && now && (now->effective & about_files) == 0;
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
    // The kernel makes all permitted capabilities over files effective again.
    if (capabilities_)
        (void)capabilities_->write();
    if (dumpable_ == 1)
        (void)::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL);
    if (death_signal_ != 0)
        (void)::prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(death_signal_), 0UL, 0UL, 0UL);
    errno = saved;
}

} // namespace gpucontainer::privilege
