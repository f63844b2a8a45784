// SPDX-License-Identifier: MIT
#include "base/own_proc.hpp"

#include "base/try.hpp"

#include <cerrno>
#include <fcntl.h>

namespace gpucontainer::base {

Result<UniqueFd> open_proc()
{
    UniqueFd proc = syscall::open_proc();
    if (!proc && errno == EXDEV)
        return Error(Errc::requirement, "/proc: not the kernel's")
            .with_hint("/proc must be mounted");
    if (!proc)
        return Error::from_errno(errno, "/proc").with_code(Errc::requirement);
    return proc;
}

Result<UniqueFd> open_own_descriptors()
{
    GPUCTR_TRY(const UniqueFd proc, open_proc());
    UniqueFd fd = open_in_proc(proc.get(), syscall::own_descriptors, O_PATH | O_DIRECTORY);
    if (!fd && errno == EXDEV)
        return Error(Errc::requirement, "/proc/thread-self/fd: something else is mounted over it")
            .with_hint("it would decide what is mounted and unmounted; unmount it");
    if (!fd)
        return Error::from_errno(errno, "/proc/thread-self/fd").with_code(Errc::requirement);
    return fd;
}

} // namespace gpucontainer::base
