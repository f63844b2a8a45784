// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace gpucontainer::base {

/// Writes all of it, however many calls that takes. False, with errno, when one
/// failed.
inline bool write_all(int fd, std::string_view bytes) noexcept
{
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
