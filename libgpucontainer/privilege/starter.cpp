// SPDX-License-Identifier: MIT
#include "privilege/starter.hpp"

#include "syscall/process.hpp"

#include <algorithm>
#include <sys/auxv.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::privilege {
namespace {

constexpr unsigned owner_shift = 6;
constexpr unsigned group_shift = 3;

/// The group with which the program was started, and the supplementary ones. Those count only while
/// the process still is its starter's: a program that became root altogether may have root's.
bool is_in_group(gid_t gid)
{
    if (::getauxval(AT_GID) == gid)
        return true;
    if (::getuid() != ::getauxval(AT_UID))
        return false;
    const int count = ::getgroups(0, nullptr);
    std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
    const int found = ::getgroups(static_cast<int>(groups.size()), groups.data());
    groups.resize(static_cast<std::size_t>(std::max(found, 0)));
    return std::ranges::find(groups, gid) != groups.end();
}

} // namespace

bool starter_may_use(const Permissions& file)
{
    // The kernel's word from the time of execve(): a program can change its real ids.
    const auto starter = ::getauxval(AT_UID);
    if (!syscall::is_raised() || starter == 0)
        return true;
    constexpr std::uint32_t read_and_write = 06;
    constexpr std::uint32_t read = 04;
    constexpr std::uint32_t anybody_writes = 0222;
    const std::uint32_t wanted = (file.mode & anybody_writes) != 0 ? read_and_write : read;
    const unsigned shift = file.uid == starter     ? owner_shift
                           : is_in_group(file.gid) ? group_shift
                                                   : 0;
    return (file.mode >> shift & wanted) == wanted;
}

} // namespace gpucontainer::privilege
