// SPDX-License-Identifier: MIT
#include "mount/lock.hpp"

#include "base/unique_fd.hpp"
#include "mount/calls.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

/// What the child tells, in memory that it shares with its parent; the copies
/// follow it.
struct Report {
    const char* step; ///< What failed; null when nothing did.
    int os_error;
};

/// That memory.
class Shared {
public:
    explicit Shared(std::size_t count) noexcept
        : size_(sizeof(Report) + count * sizeof(int)),
          memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (*this)
            new (memory_) Report{"lock mounts in a process that ended early", EIO};
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    ~Shared()
    {
        if (*this)
            (void)::munmap(memory_, size_);
    }

    explicit operator bool() const noexcept { return memory_ != MAP_FAILED; }
    Report& report() const noexcept { return *static_cast<Report*>(memory_); }
    int* copies() const noexcept
    {
        return reinterpret_cast<int*>(static_cast<std::byte*>(memory_) + sizeof(Report));
    }

private:
    std::size_t size_;
    void* memory_;
};

using Name = std::array<char, 24>;

Name name_of(std::size_t index) noexcept
{
    Name name = {};
    (void)std::snprintf(name.data(), name.size(), "%zu", index);
    return name;
}

/// The root of the mount namespace as root directory, from wherever the process
/// has been moved to: from elsewhere no user namespace can be made. Where it
/// cannot be had the kernel decides.
void enter_root_of_namespace() noexcept
{
    const base::UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (self)
        (void)::setns(self.get(), CLONE_NEWNS);
}

bool put(const Bench& bench, std::size_t index, int mount) noexcept
{
    const Name name = name_of(index);
    struct stat status = {};
    if (::fstat(mount, &status) != 0)
        return false;
    constexpr mode_t mode = 0700;
    const int made = S_ISDIR(status.st_mode) ? ::mkdir(name.data(), mode)
                                             : ::mknod(name.data(), S_IFREG | mode, 0);
    return made == 0 && attach_below(bench, mount, AT_FDCWD, name.data()) == 0;
}

/// Runs in the child, which shares the descriptors of its parent, and memory but
/// for this as it was: system calls only. Returns what failed.
const char* copy_locked(std::span<const int> mounts, int* copies) noexcept
{
    if (::unshare(CLONE_NEWNS) != 0)
        return "make a mount namespace to lock mounts in";
    enter_root_of_namespace();
    Bench bench = {Backend::staged};
    const base::UniqueFd places(new_tmpfs(bench, nullptr));
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || !places
        || attach_below(bench, places.get(), AT_FDCWD, "/") != 0 || ::fchdir(places.get()) != 0)
        return "make a place to lock mounts in";
    for (std::size_t i = 0; i < mounts.size(); ++i)
        if (!put(bench, i, mounts[i]))
            return "put a mount where it is locked";
    // What is unbindable cannot be copied. Root is what lies over the namespace's.
    if (::mount(nullptr, ".", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || ::chroot(".") != 0)
        return "make a place to lock mounts in";
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return "make a user namespace to lock mounts in";
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        copies[i] = clone_tree(bench, AT_FDCWD, name_of(i).data(), true);
        if (copies[i] < 0)
            return "copy a locked mount";
    }
    return nullptr;
}

} // namespace

const char* lock(std::span<int> mounts) noexcept
{
    const Shared shared(mounts.size());
    if (!shared)
        return "memory to lock mounts with";
    int* const copies = shared.copies();
    std::fill_n(copies, mounts.size(), -1);

    // Without a signal to the parent, and without the handlers that fork() runs.
    const long child = ::syscall(SYS_clone, CLONE_FILES, nullptr, nullptr, nullptr, nullptr);
    if (child < 0)
        return "start a process to lock mounts in";
    if (child == 0) {
        Report report = {};
        report.step = copy_locked(mounts, copies);
        report.os_error = errno;
        shared.report() = report;
        ::_exit(0);
    }
    while (::waitpid(static_cast<pid_t>(child), nullptr, __WALL) < 0 && errno == EINTR)
        continue;

    const Report report = shared.report();
    for (std::size_t i = 0; i < mounts.size(); ++i) {
        int& unused = report.step == nullptr ? mounts[i] : copies[i];
        if (unused >= 0)
            (void)::close(unused);
        if (report.step == nullptr)
            mounts[i] = copies[i];
    }
    errno = report.os_error;
    return report.step;
}

} // namespace gpucontainer::mount
