// SPDX-License-Identifier: MIT
#include "base/in_root.hpp"

#include "base/walk.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::base {

namespace {

int by_openat2(int directory, const char* path, open_how how) noexcept
{
    // openat2 fails with EAGAIN for ".." if anything on the machine was renamed or mounted
    // meanwhile. Many renames cause at most three failures in a row. Many mounts that end with
    // their namespaces cause over a hundred: wait for these, for a tenth of a second.
    constexpr int tries_at_once = 128;
    constexpr int most_tries = tries_at_once + 100;
    constexpr timespec pause = {0, 1'000'000};
    int fd = -1;
    for (int tries = 0; tries < most_tries; ++tries) {
        if (tries >= tries_at_once)
            (void)::nanosleep(&pause, nullptr);
        fd = static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

/// Asks without a lookup in a file system, because one in user space may return any error.
bool is_without_openat2() noexcept
{
    if (errno != ENOSYS && errno != EPERM)
        return false;
    const int saved = errno;
    (void)::syscall(SYS_openat2, -1, "", nullptr, 0);
    const bool absent = errno == ENOSYS || errno == EPERM;
    errno = saved;
    return absent;
}

int open_with(int directory, const char* path, const open_how& how, Links links) noexcept
{
    const int fd = by_openat2(directory, path, how);
    if (fd < 0 && is_without_openat2())
        return walk(directory, path, how.flags, static_cast<std::uint32_t>(how.mode), links);
    return fd;
}

} // namespace

int open_in_root(int root_fd, const char* path, std::uint64_t flags, std::uint32_t mode) noexcept
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC;
    how.mode = mode;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return open_with(root_fd, path, how, Links::in_root);
}

int open_beneath(int directory, const char* path, std::uint64_t flags) noexcept
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return open_with(directory, path, how, Links::refused);
}

int open_uppermost(int directory) noexcept
{
    // ".." of the root of a lookup is that root, or the mount over it.
    open_how how = {};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    return by_openat2(directory, "..", how);
}

Result<UniqueFd> open_below(int root_fd, const std::string& path, std::uint64_t flags)
{
    UniqueFd fd(open_in_root(root_fd, path.c_str(), flags));
    if (!fd)
        return Error::from_errno(errno, path).with_object(path);
    return fd;
}

Result<std::string> path_of(int fd)
{
    std::array<char, PATH_MAX> path = {};
    const std::string link = "/proc/thread-self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 0)
        return Error::from_errno(errno, link).with_object(link).with_hint("/proc must be mounted");
    if (static_cast<std::size_t>(length) == path.size())
        return Error::from_errno(ENAMETOOLONG, link);
    return std::string(path.data(), static_cast<std::size_t>(length));
}

} // namespace gpucontainer::base
