// SPDX-License-Identifier: MIT
#include "cgroup/envoy.hpp"

#include "base/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

using Clock = std::chrono::steady_clock;

/// What the envoy reports, in memory that it shares with its sender. The replies follow.
struct Report {
    std::int32_t was_born; ///< It asked in the group that it was born in.
    std::int32_t moved;    ///< It asked in the group that it joined.
    std::int32_t move_error;
    std::int32_t start_error; ///< errno if it could not be started.
    std::int32_t came_back;   ///< It ended in time.
};

/// The shared memory.
class Shared {
public:
    explicit Shared(std::size_t replies) noexcept
        : size_(sizeof(Report) + replies * sizeof(std::int32_t)),
          memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
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
    std::int32_t* replies() const noexcept
    {
        return reinterpret_cast<std::int32_t*>(static_cast<std::byte*>(memory_) + sizeof(Report));
    }

private:
    std::size_t size_;
    void* memory_;
};

/// Blocks all signals of the thread, and so of the process that it starts.
class BlockedSignals {
public:
    BlockedSignals() noexcept
    {
        sigset_t all = {};
        (void)::sigfillset(&all);
        (void)::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;
    ~BlockedSignals() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_ = {};
};

void ask(std::span<const int> nodes, std::int32_t* replies) noexcept
{
    for (std::size_t i = 0; i < nodes.size(); ++i)
        replies[i] =
            ::syscall(SYS_faccessat2, nodes[i], "", R_OK | W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0
                ? 0
                : errno;
}

/// Runs in the envoy, whose memory is a copy of its sender's: only system calls.
void run(const Errand& errand, Report& report, std::int32_t* replies) noexcept
{
    ask(errand.nodes, replies);
    report.was_born = 1;
    if (errand.moves_to < 0)
        return;
    if (::syscall(SYS_write, errand.moves_to, "0", 1) != 1) {
        report.move_error = errno;
        return;
    }
    ask(errand.nodes, replies + errand.nodes.size());
    report.moved = 1;
}

long start(int group, int& pidfd) noexcept
{
    clone_args arguments = {};
    arguments.flags = CLONE_FILES | CLONE_PIDFD;
    arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
    if (group >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(group);
    }
    return ::syscall(SYS_clone3, &arguments, sizeof arguments);
}

bool ends_in(std::chrono::milliseconds patience, int pidfd) noexcept
{
    const auto end = Clock::now() + patience;
    pollfd process = {pidfd, POLLIN, 0};
    int ended = 0;
    while (ended <= 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0)
            break;
        ended = ::poll(&process, 1, static_cast<int>(left.count()) + 1);
    }
    return ended > 0;
}

/// Runs in the envoy's parent, a process between envoy and sender. The kernel may not let a killed
/// envoy end, and only a parent can reap it. This process is in its sender's groups, so it always
/// ends; an envoy that it leaves behind is reaped by init.
void send_and_wait(const Errand& errand, Report& report, std::int32_t* replies) noexcept
{
    int pidfd = -1;
    const long envoy = start(errand.unified, pidfd);
    if (envoy == 0) {
        run(errand, report, replies);
        ::_exit(0);
    }
    if (envoy < 0) {
        report.start_error = errno;
        return;
    }
    // A group may be frozen, or have no processor time left.
    const bool in_time = ends_in(errand.patience, pidfd);
    report.came_back = in_time ? 1 : 0;
    if (!in_time)
        (void)::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
    if (in_time || ends_in(errand.patience, pidfd))
        (void)::waitid(P_PIDFD, static_cast<id_t>(pidfd), nullptr, WEXITED | __WALL);
    (void)::close(pidfd);
}

} // namespace

Result<Replies> send_envoy(const Errand& errand)
{
    const std::size_t count = errand.nodes.size();
    const Shared shared(2 * count);
    if (!shared)
        return Error::from_errno(errno, "memory for a process in its cgroup", Errc::requirement);
    long child = -1;
    int os_error = 0;
    {
        const BlockedSignals blocked;
        // Without a signal to the parent, and without fork() handlers. Descriptors are shared:
        // copies would be flushed when the process ends, which is slow on NFS and may hang on
        // FUSE.
        child = ::syscall(SYS_clone, CLONE_FILES, nullptr, nullptr, nullptr, nullptr);
        if (child == 0) {
            send_and_wait(errand, shared.report(), shared.replies());
            ::_exit(0);
        }
        os_error = errno;
    }
    while (child > 0 && ::waitpid(static_cast<pid_t>(child), nullptr, __WALL) < 0 && errno == EINTR)
        continue;

    const Report report = shared.report();
    if (child < 0 || report.start_error != 0)
        return Error::from_errno(child < 0 ? os_error : report.start_error,
                                 "start a process in its cgroup", Errc::requirement);
    if (report.was_born == 0
        || (errand.moves_to >= 0 && report.moved == 0 && report.move_error == 0))
        return Error(Errc::requirement, report.came_back != 0
                                            ? "a process in its cgroup was ended"
                                            : "a process in its cgroup does not run: it is frozen, "
                                              "or has no processor time");
    Replies replies;
    replies.move_error = report.move_error;
    replies.born.assign(shared.replies(), shared.replies() + count);
    if (report.moved != 0)
        replies.moved.assign(shared.replies() + count, shared.replies() + 2 * count);
    return replies;
}

} // namespace gpucontainer::cgroup
