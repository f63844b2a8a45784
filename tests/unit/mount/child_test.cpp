// SPDX-License-Identifier: MIT
#include "mount/child.hpp"

#include "base/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

TEST(Child, HandsBackWhatItHasToSay)
{
    Child child(2);

    EXPECT_EQ(child.run([&] {
        child.numbers()[1] = 5;
        return static_cast<const char*>(nullptr);
    }),
              nullptr);

    EXPECT_EQ(child.numbers()[0], -1);
    EXPECT_EQ(child.numbers()[1], 5);
}

/// Has a system call fail in this process and its children.
void forbid(unsigned call)
{
    std::array code = {
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter = {code.size(), code.data()};
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

/// It shares its parent's descriptors, so they must not go on side by side.
TEST(Child, IsWaitedForWhereAFilterForbidsThat)
{
    constexpr int late_ms = 100;
    const pid_t parent = ::fork();
    if (parent == 0) {
        forbid(SYS_wait4);
        Child child(1);
        const char* const step = child.run([&]() -> const char* {
            (void)::poll(nullptr, 0, late_ms);
            child.numbers()[0] = 5;
            return nullptr;
        });
        ::_exit(step == nullptr && child.numbers()[0] == 5 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(parent, &status, 0), parent);
    EXPECT_EQ(status, 0);
}

/// A process whose child would go on for ever. It holds the end of a pipe, as the child does.
class Parent {
public:
    explicit Parent(int namespaces)
    {
        std::array<int, 2> ends = {};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        pipe_.reset(ends[0]);
        const UniqueFd other(ends[1]);
        pid_ = ::fork();
        if (pid_ != 0)
            return;
        if (::unshare(namespaces) != 0)
            ::_exit(0);
        Child child(0);
        child.run([&]() -> const char* {
            (void)!::write(other.get(), "x", 1);
            (void)::poll(nullptr, 0, 4 * limit_ms); // it ends whatever comes of the test
            return nullptr;
        });
        ::_exit(0);
    }
    Parent(const Parent&) = delete;
    Parent& operator=(const Parent&) = delete;
    ~Parent() { kill(); }

    /// Whether the child is at work; not where there can be no such parent.
    bool has_child() const
    {
        char byte = 0;
        return ::read(pipe_.get(), &byte, 1) == 1;
    }

    void kill()
    {
        if (pid_ > 0 && ::kill(pid_, SIGKILL) == 0)
            (void)::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

    bool has_no_child() const
    {
        pollfd other_end = {pipe_.get(), 0, 0};
        return ::poll(&other_end, 1, limit_ms) == 1 && (other_end.revents & POLLHUP) != 0;
    }

private:
    static constexpr int limit_ms = 5000;

    UniqueFd pipe_;
    pid_t pid_ = -1;
};

TEST(Child, EndsWithItsParent)
{
    Parent parent(0);
    ASSERT_TRUE(parent.has_child());

    parent.kill();

    EXPECT_TRUE(parent.has_no_child());
}

TEST(Child, EndsWithAParentOfAnotherPidNamespace)
{
    Parent parent(CLONE_NEWPID);
    if (!parent.has_child())
        GTEST_SKIP() << "no pid namespace can be made";

    parent.kill();

    EXPECT_TRUE(parent.has_no_child());
}

} // namespace
} // namespace gpucontainer::mount
