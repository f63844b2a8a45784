// SPDX-License-Identifier: MIT
#include "mount/statmount.hpp"

#include "syscall/mount_number.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U // Linux 6.8
#endif

namespace gpucontainer::mount {
namespace {

constexpr long statmount_number = 457;
constexpr long listmount_number = 458;

} // namespace

bool statmount(std::uint64_t mount_id, std::uint64_t mask, MountStatus& status) noexcept
{
    MountIdRequest request;
    request.mount_id = mount_id;
    request.parameter = mask;
    return ::syscall(statmount_number, &request, &status, sizeof status, 0) == 0;
}

bool has_statmount() noexcept
{
    // A call that is missing, or forbidden by a filter, fails twice. If the answer changed during a
    // set-up, one mount would have two identities.
    for (int i = 0; i < 2; ++i) {
        (void)::syscall(statmount_number, nullptr, nullptr, 0, 0);
        if (errno != ENOSYS && errno != EPERM)
            return true;
    }
    return false;
}

long listmount(const MountIdRequest& request, std::uint64_t* ids, std::size_t count) noexcept
{
    return ::syscall(listmount_number, &request, ids, count, 0);
}

bool unique_id(int fd, std::uint64_t& id) noexcept
{
    struct statx status = {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID_UNIQUE, &status) != 0)
        return false;
    if ((status.stx_mask & STATX_MNT_ID_UNIQUE) == 0) {
        errno = EXDEV;
        return false;
    }
    id = status.stx_mnt_id;
    return true;
}

bool table_id(int fd, std::uint64_t& id) noexcept { return syscall::mount_number(fd, id); }

} // namespace gpucontainer::mount
