// SPDX-License-Identifier: MIT
#include "syscall/mount_flags.hpp"

#include "syscall/fd_path.hpp"

#include <array>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

namespace gpucontainer::syscall {
namespace {

constexpr std::uint64_t st_nosymfollow = 0x2000; // Linux 5.10, not in the C library's headers

struct Flag {
    std::uint64_t shown; ///< As statfs() shows it.
    unsigned long told;  ///< As mount() takes it.
};
constexpr std::array flags_of_mounts = {
    Flag{ST_RDONLY, MS_RDONLY},     Flag{ST_NOSUID, MS_NOSUID},
    Flag{ST_NODEV, MS_NODEV},       Flag{ST_NOEXEC, MS_NOEXEC},
    Flag{ST_NOATIME, MS_NOATIME},   Flag{ST_NODIRATIME, MS_NODIRATIME},
    Flag{ST_RELATIME, MS_RELATIME}, Flag{st_nosymfollow, MS_NOSYMFOLLOW},
};

} // namespace

bool read_mount_flags(int fd, std::uint64_t& flags) noexcept
{
    struct statfs status = {};
    if (::fstatfs(fd, &status) != 0)
        return false;
    flags = static_cast<std::uint64_t>(status.f_flags);
    return true;
}

unsigned long to_mount_flags(std::uint64_t statfs_flags) noexcept
{
    unsigned long result = 0;
    for (const Flag& flag : flags_of_mounts)
        if ((statfs_flags & flag.shown) != 0)
            result |= flag.told;
    // A remount with a flag for directories' access times, but none for files', sets relatime.
    if ((result & (MS_RELATIME | MS_NOATIME)) == 0)
        result |= MS_STRICTATIME;
    return result;
}

int add_mount_flags(int fd, unsigned long flags) noexcept
{
    std::uint64_t found = 0;
    if (!read_mount_flags(fd, found))
        return -1;
    return ::mount(nullptr, FdPath(fd), nullptr,
                   MS_REMOUNT | MS_BIND | to_mount_flags(found) | flags, nullptr);
}

} // namespace gpucontainer::syscall
