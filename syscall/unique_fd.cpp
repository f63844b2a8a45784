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
    // Linux frees the descriptor even if close() reports EINTR or EIO. Closing it again could close
    // a descriptor that another thread just opened.
    (void)::close(fd);
    errno = saved_errno;
}

} // namespace

int move_above_standard(int fd) noexcept
{
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, standard_descriptors);
    if (moved < 0 && errno == EINVAL) // the limit does not allow that number
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
