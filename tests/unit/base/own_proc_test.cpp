// SPDX-License-Identifier: MIT
#include "base/own_proc.hpp"

#include "support/forbidden.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

/// In a mount namespace of its own, with something over a directory of /proc.
class OwnProcTest : public testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        fake_.directory("thread-self/fd");
    }

    void TearDown() override
    {
        const bool uncovered = covered_.empty() || ::umount2(covered_.c_str(), MNT_DETACH) == 0;
        EXPECT_TRUE(uncovered);
    }

    void cover(const std::string& path, const std::string& with)
    {
        ASSERT_EQ(::mount(with.c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0);
        covered_ = path;
    }

    static std::string problem()
    {
        const auto descriptors = open_own_descriptors();
        return descriptors ? "" : descriptors.error().message();
    }

    const std::string descriptors_ = "/proc/self/task/" + std::to_string(::gettid()) + "/fd";
    test::TempRoot fake_;

private:
    std::string covered_;
};

constexpr const char* over_it = "/proc/thread-self/fd: something else is mounted over it";

TEST_F(OwnProcTest, IsTheKernels) { EXPECT_EQ(problem(), ""); }

TEST_F(OwnProcTest, IsNotAnotherFileSystemWithTheSameNames)
{
    cover("/proc", fake_.at(""));

    EXPECT_EQ(problem(), "/proc: not the kernel's");
}

TEST_F(OwnProcTest, IsNotWhatSomebodyMountedOverTheDescriptors)
{
    cover(descriptors_, fake_.at(""));

    EXPECT_EQ(problem(), over_it);
}

TEST_F(OwnProcTest, IsNotAnotherPartOfTheKernelsOverTheDescriptors)
{
    cover(descriptors_, "/proc/sys/kernel");

    EXPECT_EQ(problem(), over_it);
}

TEST_F(OwnProcTest, IsKnownWithoutOpenat2AsWell)
{
    const auto genuine = [] { return problem().empty(); };
    const auto covered = [] {
        const std::string own = "/proc/self/task/" + std::to_string(::gettid()) + "/fd";
        return ::mount("/proc/sys/kernel", own.c_str(), nullptr, MS_BIND, nullptr) == 0
               && problem() == over_it;
    };

    EXPECT_TRUE(test::with_forbidden({SYS_openat2}, ENOSYS, genuine));
    EXPECT_TRUE(test::with_forbidden({SYS_openat2}, ENOSYS, covered));
}

} // namespace
} // namespace gpucontainer::base
