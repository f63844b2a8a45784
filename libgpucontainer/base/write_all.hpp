// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace gpucontainer::base {

/// Whether RLIMIT_FSIZE allows a file of this size. A longer write would raise SIGXFSZ, whose
/// handling is the caller's business.
inline bool may_grow(int fd, std::size_t bytes) noexcept
{
    rlimit limit = {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    const off_t at = ::lseek(fd, 0, SEEK_CUR);
    if (at < 0
        || (static_cast<rlim_t>(at) <= limit.rlim_cur
            && bytes <= limit.rlim_cur - static_cast<rlim_t>(at)))
        return true; // no file of a length, or short enough
    errno = EFBIG;
    return false;
}

/// Writes all of the text, with as many calls as needed. False, with errno, if one fails. EFBIG,
/// with nothing written, if RLIMIT_FSIZE does not allow all of it.
inline bool write_all(int fd, std::string_view bytes) noexcept
{
    if (!may_grow(fd, bytes.size()))
        return false;
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

} // namespace gpucontainer::base
