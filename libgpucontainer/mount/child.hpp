// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <new>
#include <sched.h>
#include <span>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::mount {

/// A child process for what would change this one, such as joining or making namespaces. It shares
/// its parent's descriptors, has a copy of its memory, and shares some numbers that it hands back.
/// It may only make system calls. Nothing is allocated on the heap and no lock is taken. It ends
/// when its parent ends, because it would keep the parent's locks.
class Child {
public:
    /// `numbers`: how many it hands back. They begin as -1.
    explicit Child(std::size_t numbers) noexcept
        : size_(sizeof(Report) + numbers * sizeof(int)),
          memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    {
        if (memory_ == MAP_FAILED)
            return;
        new (memory_) Report{"use another process, which ended early", EIO};
        auto* const first =
            reinterpret_cast<int*>(static_cast<std::byte*>(memory_) + sizeof(Report));
        numbers_ = {first, numbers};
        for (int& number : numbers_)
            number = -1;
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child()
    {
        if (memory_ != MAP_FAILED)
            (void)::munmap(memory_, size_);
    }

    std::span<int> numbers() const noexcept { return numbers_; }

    /// Runs `work` in the child and waits for its end. `work` returns null, or what failed, with
    /// errno; so does this. The child raises no SIGCHLD.
    template <typename Work>
    const char* run(Work work) noexcept
    {
        if (memory_ == MAP_FAILED)
            return "get memory to share with another process";
        // No signal is sent to the parent, and the handlers of fork() do not run.
        const pid_t parent = ::getpid();
        const long child = ::syscall(SYS_clone, CLONE_FILES, nullptr, nullptr, nullptr, nullptr);
        if (child < 0)
            return "start another process";
        auto* const report = static_cast<Report*>(memory_);
        if (child == 0) {
            if (!ends_with(parent))
                ::_exit(0);
            const char* const step = work();
            report->os_error = errno;
            report->step = step;
            ::_exit(0);
        }
        wait_for(static_cast<pid_t>(child));
        errno = report->os_error;
        return report->step;
    }

private:
    /// Runs in the child. The parent may have ended before the kernel knows that the child must end
    /// with it. A parent in another pid namespace has no number here.
    static bool ends_with(pid_t parent) noexcept
    {
        const bool told = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
        const pid_t now = ::getppid();
        return told && (now == parent || now == 0);
    }

    /// A filter of the caller's may forbid one of the calls. If nobody waited, this process would
    /// go on beside the child, which still opens and closes its descriptors.
    static void wait_for(pid_t child) noexcept
    {
        while (::waitpid(child, nullptr, __WALL) < 0)
            if (errno != EINTR) {
                siginfo_t end = {};
                while (::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | __WALL) < 0
                       && errno == EINTR)
                    continue;
                return;
            }
    }

    struct Report {
        const char* step; ///< What failed, or null.
        int os_error;
    };

    std::size_t size_;
    void* memory_;
    std::span<int> numbers_;
};

} // namespace gpucontainer::mount
