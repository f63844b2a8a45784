// SPDX-License-Identifier: MIT
#include "mount/namespace.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "mount/statmount.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

constexpr const char* own_directory = "/proc/thread-self";
constexpr const char* own_namespace = "/proc/thread-self/ns/mnt";

/// False also for a namespace that this process has no privilege over.
bool kernel_knows(std::uint64_t id)
{
    std::uint64_t first = 0;
    return listmount(of_namespace(id), &first, 1) >= 0;
}

std::optional<std::map<std::uint64_t, int>> namespaces_of_processes()
{
    const auto names = base::list_directory(-1, "/proc");
    if (!names)
        return std::nullopt;
    std::map<std::uint64_t, int> found;
    for (const std::string& name : *names) {
        const auto number = base::to_number(name);
        if (!number)
            continue;
        const std::uint64_t id = namespace_id("/proc/" + name + "/ns/mnt");
        const bool gone = errno == ENOENT || errno == ESRCH;
        if (id == 0 && !gone && errno != EACCES && errno != EPERM)
            return std::nullopt;
        const int process = static_cast<int>(*number);
        int& lowest = found.emplace(id, process).first->second;
        lowest = std::min(lowest, process);
    }
    return found;
}

Error cannot_join(int os_error)
{
    Error error = Error::from_errno(os_error, "join the process's mount namespace", Errc::apply);
    if (os_error == ESRCH)
        return {Errc::rootfs, "the process has ended"};
    if (os_error == EBADF)
        return std::move(error).with_code(Errc::usage).with_hint("a pidfd is needed");
    if (os_error == EINVAL)
        return std::move(error)
            .with_code(Errc::usage)
            .with_hint("call unshare(CLONE_FS) before, in a thread that is only for this call: it "
                       "must not share its working directory with others");
    return std::move(error).with_hint(
        "CAP_SYS_ADMIN and CAP_SYS_CHROOT are needed, also in the user namespace that owns the "
        "process's mount namespace");
}

} // namespace

std::uint64_t namespace_id(const std::string& path)
{
    // NS_GET_MNTNS_ID of linux/nsfs.h; Debian 12 does not have it.
    constexpr unsigned long get_mount_namespace_id = _IOR(0xb7, 0x5, std::uint64_t);
    const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t id = 0;
    if (fd && ::ioctl(fd.get(), get_mount_namespace_id, &id) == 0)
        return id;
    // One namespace must not have two identities. So the inode is used only on kernels without this
    // call.
    struct stat status = {};
    return fd && errno == ENOTTY && ::fstat(fd.get(), &status) == 0 ? status.st_ino : 0;
}

std::uint64_t current_namespace_id() { return namespace_id(own_namespace); }

bool LivingNamespaces::contains(std::uint64_t id)
{
    if (kernel_knows(id))
        return true;
    return !processes() || processes_->contains(id);
}

int LivingNamespaces::process_in(std::uint64_t id)
{
    const bool found = processes() && processes_->contains(id);
    return found ? processes_->at(id) : 0;
}

const LivingNamespaces::Processes& LivingNamespaces::processes()
{
    if (!processes_)
        processes_ = namespaces_of_processes();
    return processes_;
}

Result<NamespaceVisit> NamespaceVisit::enter(int pidfd)
{
    NamespaceVisit visit;
    if (pidfd < 0)
        return visit;
    base::UniqueFd home(::open(own_namespace, O_RDONLY | O_CLOEXEC));
    visit.root_.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    visit.directory_.reset(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const base::UniqueFd self(::open(own_directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!home || !visit.root_ || !visit.directory_ || !self)
        return Error::from_errno(errno, "remember the mount namespace to return to", Errc::apply)
            .with_hint("/proc must be mounted");
    if (::setns(pidfd, CLONE_NEWNS) != 0)
        return cannot_join(errno);
    visit.home_ = std::move(home);
    // The table shows what is below the root that the thread has when it opens it.
    visit.table_.reset(::openat(self.get(), "mountinfo", O_RDONLY | O_CLOEXEC));
    if (!visit.table_ || !visit.take_paths_along())
        return cannot_join(errno);
    return visit;
}

NamespaceVisit::~NamespaceVisit() { (void)leave(); }

Result<void> NamespaceVisit::leave()
{
    if (!home_)
        return {};
    const base::UniqueFd home = std::move(home_);
    if (::setns(home.get(), CLONE_NEWNS) != 0 || !take_paths_along())
        return Error::from_errno(errno, "return to the caller's mount namespace", Errc::apply);
    return {};
}

/// Joining a namespace moves root and working directory to its root.
bool NamespaceVisit::take_paths_along() const noexcept
{
    return ::fchdir(root_.get()) == 0 && ::chroot(".") == 0 && ::fchdir(directory_.get()) == 0;
}

} // namespace gpucontainer::mount
