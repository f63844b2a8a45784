// SPDX-License-Identifier: MIT
#include "runtime/container_process.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/privileges.hpp"
#include "runtime/container.hpp"
#include "syscall/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace gpuctr_cli {
namespace {

using gpucontainer::Error;

/// Compares directories, not mounts: another namespace has other mounts of the same directory.
bool is_same_directory(int left, int right)
{
    struct stat first = {};
    struct stat second = {};
    return ::fstat(left, &first) == 0 && ::fstat(right, &second) == 0
           && first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

} // namespace

ContainerProcess::ContainerProcess(int pid)
    : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))
{
    if (!pidfd_ && errno == ENOSYS)
        fail(formatted("process {}", pid), GPUCTR_E_REQUIREMENT, "--pid needs Linux 5.8");
    if (!pidfd_)
        fail(formatted("process {}", pid), GPUCTR_E_ROOTFS,
             "name a process that runs in the container with --pid");
}

std::string ContainerProcess::path(const char* name) const
{
    return formatted("/proc/{}/{}", pid_, name);
}

/// If this succeeds, what was read by pid before is of the process that the pidfd refers to.
void ContainerProcess::require_alive() const
{
    if (gpucontainer::syscall::has_ended(pidfd_.get()))
        throw Error(GPUCTR_E_ROOTFS, formatted("process {} has ended", pid_), "", 0);
}

Fd ContainerProcess::open_root() const
{
    Fd root(::open(path("root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root)
        fail(formatted("root directory of process {}", pid_), GPUCTR_E_ROOTFS,
             "be root, or the user that the container belongs to");
    require_alive();
    const Fd own(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (is_same_directory(root.get(), own.get()))
        throw Error(
            GPUCTR_E_ROOTFS,
            formatted("process {} is in no container: its root directory is the host's", pid_),
            "name a process that runs in the container with --pid", 0);
    return root;
}

bool ContainerProcess::is_in_own_user_namespace() const
{
    struct stat own = {};
    struct stat its = {};
    return ::stat("/proc/self/ns/user", &own) == 0 && ::stat(path("ns/user").c_str(), &its) == 0
           && own.st_ino == its.st_ino;
}

void ContainerProcess::enter_user_namespace() const
{
    if (::geteuid() == 0 || is_in_own_user_namespace())
        return;
    require_alive();
    if (::setns(pidfd_.get(), CLONE_NEWUSER) != 0)
        fail(formatted("join the user namespace of process {}", pid_), GPUCTR_E_PERMISSION,
             "be root, or the user that the container belongs to");
    enter_private_mount_namespace();
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY | GPUCTR_PHASE_IN_PROCESS);
}

} // namespace gpuctr_cli
