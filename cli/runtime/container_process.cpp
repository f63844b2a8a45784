// SPDX-License-Identifier: MIT
#include "runtime/container_process.hpp"

#include "output/failure.hpp"
#include "output/format.hpp"
#include "process/privileges.hpp"
#include "runtime/container.hpp"
#include "syscall/process.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <linux/magic.h>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

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

std::vector<std::string> environment_of(int pid, int pidfd)
{
    std::ifstream file(formatted("/proc/{}/environ", pid), std::ios::binary);
    // A process may say that all of its memory is its environment (PR_SET_MM_MAP).
    constexpr std::size_t largest = std::size_t{8} << 20U; // the kernel gives 6 MiB at a start
    constexpr std::size_t most = 65'536;
    std::string text(largest, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (gpucontainer::syscall::has_ended(pidfd))
        throw Error(GPUCTR_E_ROOTFS, formatted("process {} has ended", pid), "", 0);
    std::vector<std::string> variables;
    for (std::size_t at = 0; at < text.size() && variables.size() < most;) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        if (end != at)
            variables.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return variables;
}

namespace {

/// Of kernels that cannot join namespaces by a pidfd.
constexpr const char* joining_hint =
    "to join a container needs Linux 5.8: use the stage createContainer";

/// Whether two processes share a namespace; none if that cannot be seen.
std::optional<bool> share(const char* kind, const std::string& left, const std::string& right)
{
    struct stat first = {};
    struct stat second = {};
    if (::stat(formatted("/proc/{}/ns/{}", left, kind).c_str(), &first) != 0
        || ::stat(formatted("/proc/{}/ns/{}", right, kind).c_str(), &second) != 0)
        return std::nullopt;
    return first.st_ino == second.st_ino && first.st_dev == second.st_dev;
}

/// What is made in the container belongs to its root.
void become_root_of_namespace(int pid)
{
    if (::getgroups(0, nullptr) != 0 && ::setgroups(0, nullptr) != 0)
        fail(formatted("leave the groups of this process in the user namespace of process {}", pid),
             GPUCTR_E_ROOTFS,
             "one that a user made without newgidmap denies that (setgroups): use the stage "
             "createContainer, at which the hook is root of the container");
    if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)
        fail(formatted("become root of the user namespace of process {}", pid), GPUCTR_E_ROOTFS,
             "the container's user namespace needs an id 0");
}

} // namespace

std::optional<bool> is_in_mount_namespace_of_host() { return share("mnt", "self", "1"); }

void require_root_of_container(int root, const std::string& name)
{
    struct statfs status = {};
    const Fd proc(::openat(root, "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (proc && ::fstatfs(proc.get(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC)
        return;
    throw Error(GPUCTR_E_ROOTFS,
                formatted("root file system {}: not that of a container, as no /proc is mounted "
                          "in it here",
                          name),
                "a runtime mounts it before hooks are called, for the container alone: use the "
                "stage createContainer, or name that of the hook with --stage",
                0, {}, "rootfs");
}

Fd open_process(int pid)
{
    Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd)
        fail(formatted("process {}", pid), errno == ENOSYS ? GPUCTR_E_REQUIREMENT : GPUCTR_E_ROOTFS,
             errno == ENOSYS ? joining_hint : "");
    return pidfd;
}

void join_namespaces(int pid)
{
    const Fd pidfd = open_process(pid);
    const std::string process = std::to_string(pid);
    const auto same_user = share("user", "self", process);
    const auto same_mounts = share("mnt", "self", process);
    if (!same_user || !same_mounts)
        fail(formatted("namespaces of process {}", pid), GPUCTR_E_ROOTFS);
    // Otherwise the number may be that of another process by now.
    if (gpucontainer::syscall::has_ended(pidfd.get()))
        throw Error(GPUCTR_E_ROOTFS, formatted("process {} has ended", pid), "", 0);
    if (*same_mounts)
        throw Error(GPUCTR_E_ROOTFS, formatted("process {} has no mount namespace of its own", pid),
                    "at the stage createContainer, the hook is in that of the container", 0);
    if (!*same_user) {
        if (::setns(pidfd.get(), CLONE_NEWUSER) != 0)
            fail(formatted("join the user namespace of process {}", pid), GPUCTR_E_PERMISSION,
                 errno == EINVAL ? joining_hint : "");
        become_root_of_namespace(pid);
    }
    const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (::setns(pidfd.get(), CLONE_NEWNS) != 0)
        fail(formatted("join the mount namespace of process {}", pid), GPUCTR_E_PERMISSION,
             errno == EINVAL ? joining_hint : "");
    // From here on, its files would be taken for the host's.
    const Fd its_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!is_same_directory(root.get(), its_root.get()))
        throw Error(GPUCTR_E_ROOTFS,
                    formatted("process {} has another root directory already", pid),
                    "before the container's root directory is set, the host's files can be seen "
                    "there",
                    0);
    shrink_privileges(GPUCTR_PHASE_LOOK | GPUCTR_PHASE_APPLY);
}

} // namespace gpuctr_cli
