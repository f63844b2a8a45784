// SPDX-License-Identifier: MIT
#include "base/in_root.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::base {

int open_in_root(int root_fd, const char* path, std::uint64_t flags, std::uint32_t mode) noexcept
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC;
    how.mode = mode;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;

    // The kernel answers EAGAIN when a component moved meanwhile; a storm of
    // renames showed three in a row at most.
    constexpr int most_tries = 128;
    int fd = -1;
    for (int tries = 0; tries < most_tries; ++tries) {
        fd = static_cast<int>(::syscall(SYS_openat2, root_fd, path, &how, sizeof how));
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

Result<UniqueFd> open_below(int root_fd, const std::string& path, std::uint64_t flags)
{
    UniqueFd fd(open_in_root(root_fd, path.c_str(), flags));
    if (!fd && errno == ENOSYS)
        return Error::from_errno(ENOSYS, "openat2", Errc::permission)
            .with_object(path)
            .with_hint("Linux 5.6 or later is needed, without a seccomp filter on openat2");
    if (!fd)
        return Error::from_errno(errno, path).with_object(path);
    return fd;
}

Result<std::string> path_of(int fd)
{
    std::array<char, PATH_MAX> path = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    if (length < 0)
        return Error::from_errno(errno, link).with_object(link).with_hint("/proc must be mounted");
    if (static_cast<std::size_t>(length) == path.size())
        return Error::from_errno(ENAMETOOLONG, link);
    return std::string(path.data(), static_cast<std::size_t>(length));
}

} // namespace gpucontainer::base
