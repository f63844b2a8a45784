// SPDX-License-Identifier: MIT
#include "host/node_access.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

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

int access_error(const std::string& path, int wanted)
{
    return ::faccessat(AT_FDCWD, path.c_str(), wanted, AT_EACCESS) == 0 ? 0 : errno;
}

} // namespace

Obstacle obstacle_to_opening(const std::string& path)
{
    // The kernel asks the device cgroup here too, and answers EPERM for it.
    int error = access_error(path, R_OK | W_OK);
    struct stat status = {};
    const bool is_known = error == EACCES && ::stat(path.c_str(), &status) == 0;
    constexpr mode_t anybody_writes = 0222;
    if (is_known && (status.st_mode & anybody_writes) == 0)
        error = access_error(path, R_OK); // as the nodes of rights to NVIDIA's instances
    if (error == 0)
        return {is_on_nodev(path) ? "the mount that it is on allows no devices (nodev)" : ""};
    if (error == EPERM)
        return {"the device cgroup forbids it", true};
    if (error != EACCES || !is_known)
        return {::strerrordesc_np(error)};
    return {base::format("its permissions forbid it (mode {:04o}, user {}, group {})",
                         status.st_mode & 07777U, status.st_uid, status.st_gid)};
}

bool is_anybodys(const std::string& path, std::uint32_t owner)
{
    struct stat above = {};
    constexpr mode_t others = S_IWGRP | S_IWOTH;
    return owner != 0 && owner != ::geteuid()
           && (::lstat(std::string(base::directory_of(path)).c_str(), &above) != 0
               || (above.st_mode & others) != 0);
}

} // namespace gpucontainer::host
