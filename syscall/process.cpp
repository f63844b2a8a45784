// SPDX-License-Identifier: MIT
#include "syscall/process.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace gpucontainer::syscall {

bool has_call(long number) noexcept
{
    (void)::syscall(number, -1, "", 0, nullptr, 0);
    return errno != ENOSYS && errno != EPERM;
}

bool has_ended(int pidfd) noexcept
{
    pollfd end = {pidfd, POLLIN, 0};
    return ::poll(&end, 1, 0) != 0;
}

bool is_raised() noexcept { return ::getauxval(AT_SECURE) != 0; }

} // namespace gpucontainer::syscall
