// SPDX-License-Identifier: MIT
#include "host/node_access.hpp"

#include "base/format.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace gpucontainer::host {
namespace {

/// A mount with nodev. access() does not check that; only open() does.
bool is_on_nodev(const std::string& path)
{
    struct statfs status = {};
    return ::statfs(path.c_str(), &status) == 0
           && (static_cast<unsigned long>(status.f_flags) & ST_NODEV) != 0;
}

} // namespace

Obstacle obstacle_to_opening(const std::string& path)
{
    // The kernel asks the device cgroup here too, and answers EPERM for it.
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0)
        return {is_on_nodev(path) ? "the mount that it is on allows no devices (nodev)" : ""};
    const int error = errno;
    if (error == EPERM)
        return {"the device cgroup forbids it", true};
    struct stat status = {};
    if (error != EACCES || ::stat(path.c_str(), &status) != 0)
        return {::strerrordesc_np(error)};
    return {base::format("its permissions forbid it (mode {:04o}, user {}, group {})",
                         status.st_mode & 07777U, status.st_uid, status.st_gid)};
}

} // namespace gpucontainer::host
