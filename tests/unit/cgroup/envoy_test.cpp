// SPDX-License-Identifier: MIT
#include "cgroup/envoy.hpp"

#include "base/unique_fd.hpp"
#include "support/control_group.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

using base::UniqueFd;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::ControlGroup;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

UniqueFd node(const char* path) { return UniqueFd(::open(path, O_PATH | O_CLOEXEC)); }

UniqueFd directory_of(const ControlGroup& group)
{
    return UniqueFd(::open(group.place().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

class EnvoyTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "this is for root";
        group_ = ControlGroup::make(ControlGroup::Version::unified);
        if (!group_)
            GTEST_SKIP() << "no control group of version 2 can be made";
        directory_ = directory_of(*group_);
    }

    auto send(milliseconds patience = std::chrono::seconds(60))
    {
        return send_envoy({directory_.get(), -1, nodes_, patience});
    }

    std::optional<ControlGroup> group_;
    UniqueFd directory_;
    UniqueFd null_ = node("/dev/null");
    UniqueFd zero_ = node("/dev/zero");
    std::vector<int> nodes_ = {null_.get(), zero_.get()};
};

TEST_F(EnvoyTest, IsToldWhatProcessesOfTheGroupAre)
{
    const auto free = send();
    ASSERT_TRUE(free) << free.error().message();
    EXPECT_THAT(free->born, ElementsAre(0, 0));

    if (!group_->forbid(1, 5))
        GTEST_SKIP() << "no program can be attached: " << ::strerror(errno);
    const auto replies = send();

    ASSERT_TRUE(replies) << replies.error().message();
    EXPECT_THAT(replies->born, ElementsAre(0, EPERM));
    EXPECT_THAT(replies->moved, IsEmpty());
}

TEST_F(EnvoyTest, StaysInTheCallersGroupWhereNoneIsNamed)
{
    const auto replies = send_envoy({-1, -1, nodes_});

    ASSERT_TRUE(replies) << replies.error().message();
    EXPECT_THAT(replies->born, ElementsAre(0, 0));
}

TEST_F(EnvoyTest, LeavesNothingBehind)
{
    const auto descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    static volatile sig_atomic_t signals = 0;
    struct sigaction before = {};
    struct sigaction count = {};
    count.sa_handler = [](int) { signals = signals + 1; };
    ASSERT_EQ(::sigaction(SIGCHLD, &count, &before), 0);
    sigset_t mask_before = {};
    sigset_t mask = {};
    (void)::pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
    const auto open = descriptors();

    EXPECT_TRUE(send());

    EXPECT_EQ(descriptors(), open);
    EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(signals, 0);
    (void)::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (int number = 1; number < NSIG; ++number)
        EXPECT_EQ(::sigismember(&mask, number), ::sigismember(&mask_before, number));
    EXPECT_THAT(group_->read("cgroup.procs"), IsEmpty());
    (void)::sigaction(SIGCHLD, &before, nullptr);
}

/// It would be stopped there for as long as the group's owner likes.
TEST_F(EnvoyTest, ComesToAnEndInAFrozenGroup)
{
    ASSERT_TRUE(group_->write("cgroup.freeze", "1"));
    const auto begin = steady_clock::now();

    const auto replies = send(milliseconds(100));

    ASSERT_FALSE(replies);
    EXPECT_EQ(replies.error().code(), Errc::requirement);
    EXPECT_THAT(replies.error().message(), ::testing::HasSubstr("does not run"));
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(30));
    EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
    EXPECT_THAT(group_->read("cgroup.procs"), IsEmpty());
}

/// Keeps what this process's children start from ending, as a device may that does not answer,
/// until the end of the scope.
class HeldEnds {
public:
    HeldEnds()
    {
        std::array<int, 2> ends = {};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        const UniqueFd ready(ends[0]);
        UniqueFd begun(ends[1]);
        const pid_t traced = ::getpid();
        tracer_ = ::fork();
        if (tracer_ == 0)
            trace(traced, begun.get());
        begun.reset();
        char byte = 0;
        works_ = ::read(ready.get(), &byte, 1) == 1;
    }
    HeldEnds(const HeldEnds&) = delete;
    HeldEnds& operator=(const HeldEnds&) = delete;
    ~HeldEnds()
    {
        (void)::kill(tracer_, SIGKILL);
        (void)::waitpid(tracer_, nullptr, 0);
    }

    bool works() const noexcept { return works_; }

private:
    [[noreturn]] static void trace(pid_t traced, int begun)
    {
        constexpr long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT;
        if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0
            || ::ptrace(PTRACE_SEIZE, traced, nullptr, options) != 0)
            ::_exit(1);
        (void)!::write(begun, "x", 1);
        pid_t child = -1;
        int status = 0;
        pid_t stopped = -1;
        while ((stopped = ::waitpid(-1, &status, __WALL)) > 0) {
            if (child < 0 && stopped != traced)
                child = stopped;
            const int event = status >> 16;
            if (event == PTRACE_EVENT_EXIT && stopped != traced && stopped != child)
                continue;
            (void)::ptrace(PTRACE_CONT, stopped, nullptr, event == 0 ? WSTOPSIG(status) : 0);
        }
        ::_exit(0);
    }

    pid_t tracer_ = -1;
    bool works_ = false;
};

TEST_F(EnvoyTest, IsLeftToInitWhereItDoesNotEnd)
{
    const HeldEnds held;
    if (!held.works())
        GTEST_SKIP() << "this process cannot be traced";
    const auto begin = steady_clock::now();

    (void)send(milliseconds(100));

    EXPECT_GT(steady_clock::now() - begin, milliseconds(200));
    EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(30));
    EXPECT_THAT(group_->read("cgroup.procs"), ::testing::Not(IsEmpty()));
    // Only the tracer, which goes on.
    EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), 0);
}

TEST_F(EnvoyTest, SaysWhereNoProcessCanBeStarted)
{
    const auto none = send_envoy({zero_.get(), -1, nodes_});

    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message(), ::testing::StartsWith("start a process in its cgroup: "));
}

/// Somebody else of the caller's may wait for any child.
TEST_F(EnvoyTest, MayBeReapedByAnotherThread)
{
    std::atomic<bool> done = false;
    std::thread reaper([&] {
        while (!done)
            (void)::waitpid(-1, nullptr, __WALL | WNOHANG);
    });
    for (int i = 0; i < 50; ++i) {
        const auto replies = send();
        EXPECT_TRUE(replies) << replies.error().message();
    }
    done = true;
    reaper.join();
}

class JoiningEnvoyTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "this is for root";
        group_ = ControlGroup::make(ControlGroup::Version::devices);
        if (!group_)
            GTEST_SKIP() << "no device cgroup of version 1 can be made";
        procs_.reset(::open((group_->place() + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    }

    std::optional<ControlGroup> group_;
    UniqueFd procs_;
    UniqueFd null_ = node("/dev/null");
    UniqueFd zero_ = node("/dev/zero");
    std::vector<int> nodes_ = {null_.get(), zero_.get()};
};

TEST_F(JoiningEnvoyTest, IsToldWhatTheListLeavesOpen)
{
    ASSERT_TRUE(group_->write("devices.deny", "c 1:5 rwm"));

    const auto replies = send_envoy({-1, procs_.get(), nodes_, std::chrono::seconds(60)});

    ASSERT_TRUE(replies) << replies.error().message();
    EXPECT_THAT(replies->born, ElementsAre(0, 0));
    EXPECT_THAT(replies->moved, ElementsAre(0, EPERM));
    EXPECT_EQ(group_->read("cgroup.procs"), "");
}

TEST_F(JoiningEnvoyTest, SaysWhereItMayNot)
{
    const UniqueFd read_only(
        ::open((group_->place() + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC));

    const auto replies = send_envoy({-1, read_only.get(), nodes_, std::chrono::seconds(60)});

    ASSERT_TRUE(replies) << replies.error().message();
    EXPECT_EQ(replies->move_error, EBADF);
    EXPECT_THAT(replies->moved, IsEmpty());
}

} // namespace
} // namespace gpucontainer::cgroup
