// SPDX-License-Identifier: MIT
#include "base/own_proc.hpp"

#include "base/mount_number.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

constexpr const char* own_descriptors = "thread-self/fd";

bool on_same_mount(int left, int right)
{
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    return mount_number(left, first) && mount_number(right, second) && first == second;
}

/// Without going over to another mount on the way, where the kernel can be asked for
/// that, and no filter forbids it.
UniqueFd open_on_same_mount(int proc)
{
    open_how how = {};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, proc, own_descriptors, &how, sizeof how)));
    if (fd || (errno != ENOSYS && errno != EPERM))
        return fd;
    fd.reset(::openat(proc, own_descriptors, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd && !on_same_mount(proc, fd.get())) {
        fd.reset();
        errno = EXDEV;
    }
    return fd;
}

} // namespace

Result<UniqueFd> open_own_descriptors()
{
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct statfs status = {};
    if (!proc || ::fstatfs(proc.get(), &status) != 0)
        return Error::from_errno(errno, "/proc").with_code(Errc::requirement);
    if (status.f_type != PROC_SUPER_MAGIC)
        return Error(Errc::requirement, "/proc: not the kernel's")
            .with_hint("/proc must be mounted");
    UniqueFd fd = open_on_same_mount(proc.get());
    if (!fd && errno == EXDEV)
        return Error(Errc::requirement, "/proc/thread-self/fd: something else is mounted over it")
            .with_hint("it would decide what is mounted and unmounted; unmount it");
    if (!fd)
        return Error::from_errno(errno, "/proc/thread-self/fd").with_code(Errc::requirement);
    return fd;
}

} // namespace gpucontainer::base
