// SPDX-License-Identifier: MIT
#include "base/unique_fd.hpp"

#include <cerrno>
#include <unistd.h>

namespace gpucontainer::base {

void UniqueFd::reset(int fd) noexcept
{
    const int old = std::exchange(fd_, fd);
    if (old < 0)
        return;

    const int saved_errno = errno;
    // Linux frees the descriptor even when close() reports EINTR or EIO;
    // closing again could hit a descriptor another thread just opened.
    (void)::close(old);
    errno = saved_errno;
}

} // namespace gpucontainer::base
