// SPDX-License-Identifier: MIT
#include "syscall/mount_number.hpp"

#include "syscall/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

bool read_number(int fd, std::uint64_t& number) noexcept
{
    std::array<char, 40> path = {};
    (void)std::snprintf(path.data(), path.size(), "/proc/thread-self/fdinfo/%d", fd);
    const UniqueFd file(::open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 512> text = {};
    if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0)
        return false;
    constexpr const char* key = "mnt_id:";
    const char* const line = std::strstr(text.data(), key);
    number = line != nullptr ? std::strtoull(line + std::strlen(key), nullptr, 10) : 0;
    if (number == 0)
        errno = EXDEV;
    return number != 0;
}

} // namespace

bool mount_number(int fd, std::uint64_t& number) noexcept
{
    struct statx status = {};
    if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) != 0)
        return false;
    if ((status.stx_mask & STATX_MNT_ID) == 0)
        return read_number(fd, number);
    number = status.stx_mnt_id;
    return true;
}

} // namespace gpucontainer::syscall
