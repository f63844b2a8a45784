// SPDX-License-Identifier: MIT
#include "base/own_proc.hpp"

#include "base/mount_number.hpp"
#include "base/try.hpp"

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

} // namespace

Result<UniqueFd> open_proc()
{
    UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct statfs status = {};
    if (!proc || ::fstatfs(proc.get(), &status) != 0)
        return Error::from_errno(errno, "/proc").with_code(Errc::requirement);
    if (status.f_type != PROC_SUPER_MAGIC)
        return Error(Errc::requirement, "/proc: not the kernel's")
            .with_hint("/proc must be mounted");
    return proc;
}

UniqueFd open_in_proc(int proc, const char* path, unsigned flags)
{
    open_how how = {};
    how.flags = flags | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS;
    UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, proc, path, &how, sizeof how)));
    if (fd || (errno != ENOSYS && errno != EPERM))
        return fd;
    fd.reset(::openat(proc, path, static_cast<int>(flags) | O_CLOEXEC));
    if (fd && !on_same_mount(proc, fd.get())) {
        fd.reset();
        errno = EXDEV;
    }
    return fd;
}

Result<UniqueFd> open_own_descriptors()
{
    GPUCTR_TRY(const UniqueFd proc, open_proc());
    UniqueFd fd = open_in_proc(proc.get(), own_descriptors, O_PATH | O_DIRECTORY);
    if (!fd && errno == EXDEV)
        return Error(Errc::requirement, "/proc/thread-self/fd: something else is mounted over it")
            .with_hint("it would decide what is mounted and unmounted; unmount it");
    if (!fd)
        return Error::from_errno(errno, "/proc/thread-self/fd").with_code(Errc::requirement);
    return fd;
}

} // namespace gpucontainer::base
