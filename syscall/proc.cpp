// SPDX-License-Identifier: MIT
#include "syscall/proc.hpp"

#include "syscall/mount_number.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

constexpr ino_t root_inode = 1; // the kernel's PROC_ROOT_INO

bool on_same_mount(int left, int right) noexcept
{
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    return mount_number(left, first) && mount_number(right, second) && first == second;
}

} // namespace

UniqueFd open_proc() noexcept
{
    UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct statfs system = {};
    struct stat root = {};
    if (!proc || ::fstatfs(proc.get(), &system) != 0 || ::fstat(proc.get(), &root) != 0)
        return UniqueFd();
    if (system.f_type != PROC_SUPER_MAGIC || root.st_ino != root_inode) {
        errno = EXDEV;
        return UniqueFd();
    }
    return proc;
}

UniqueFd open_in_proc(int proc, const char* path, unsigned flags) noexcept
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

} // namespace gpucontainer::syscall
