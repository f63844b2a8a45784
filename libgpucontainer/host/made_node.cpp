// SPDX-License-Identifier: MIT
#include "host/made_node.hpp"

#include "base/format.hpp"
#include "privilege/starter.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace gpucontainer::host {
namespace {

constexpr std::uint32_t permissions = 0777;
constexpr const char* cgroup_forbids = "the device cgroup forbids it";

Obstacle forbidden_by_permissions(const LackingNode& node)
{
    return {base::format("its permissions would forbid it (mode {:04o}, user {}, group {})",
                         node.mode & permissions, node.uid, node.gid)};
}

/// Asks the kernel with the real ids of this process. Unlike faccessat2(), this call exists on all
/// kernels, and without it nothing answers in its place.
Obstacle obstacle_to_use(int directory, const char* name, const LackingNode& node)
{
    constexpr std::uint32_t anybody_writes = 0222;
    const int wanted = (node.mode & anybody_writes) != 0 ? R_OK | W_OK : R_OK;
    if (::faccessat(directory, name, wanted, 0) != 0) {
        if (errno == EPERM)
            return {cgroup_forbids, true};
        return errno == EACCES ? forbidden_by_permissions(node)
                               : Obstacle{::strerrordesc_np(errno)};
    }
    return privilege::starter_may_use({node.mode, node.uid, node.gid})
               ? Obstacle()
               : forbidden_by_permissions(node);
}

/// The mode first: only the owner may change it.
bool give_away(int directory, const char* name, const LackingNode& node)
{
    return ::fchmodat(directory, name, node.mode & permissions, 0) == 0
           && ::fchownat(directory, name, node.uid, node.gid, AT_SYMLINK_NOFOLLOW) == 0;
}

} // namespace

bool make_plain_node(int directory, const char* name, const LackingNode& node)
{
    if (::mknodat(directory, name, S_IFCHR, ::makedev(node.major, node.minor)) != 0)
        return false;
    if (give_away(directory, name, node))
        return true;
    const int why = errno;
    (void)::unlinkat(directory, name, 0);
    errno = why;
    return false;
}

Obstacle make_node(int directory, const char* name, const LackingNode& node)
{
    // fchownat() takes this number for "leave it", which would be root.
    if (node.uid == UINT32_MAX || node.gid == UINT32_MAX)
        return {"it is not known who would own it"};
    if (::mknodat(directory, name, S_IFCHR, ::makedev(node.major, node.minor)) != 0)
        return errno == EPERM ? Obstacle{cgroup_forbids, true} : Obstacle{::strerrordesc_np(errno)};
    Obstacle obstacle = give_away(directory, name, node)
                            ? obstacle_to_use(directory, name, node)
                            : Obstacle{base::format("its mode and owner cannot be set: {}",
                                                    ::strerrordesc_np(errno))};
    if (!obstacle.text.empty())
        (void)::unlinkat(directory, name, 0);
    return obstacle;
}

} // namespace gpucontainer::host
