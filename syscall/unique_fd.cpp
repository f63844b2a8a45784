// SPDX-License-Identifier: MIT
#include "syscall/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

void close_quietly(int fd) noexcept
{
    const int saved_errno = errno;
    // Linux frees the descriptor even when close() reports EINTR or EIO;
    // closing again could hit a descriptor another thread just opened.
    (void)::close(fd);
    errno = saved_errno;
}

} // namespace

int move_above_standard(int fd) noexcept
{
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, standard_descriptors);
    if (moved < 0 && errno == EINVAL) // the limit allows none of that number
        errno = EMFILE;
    close_quietly(fd);
    return moved;
}

void UniqueFd::reset(int fd) noexcept
{
    const int old = std::exchange(fd_, above_standard(fd));
    if (old >= 0)
        close_quietly(old);
}

} // namespace gpucontainer::syscall
