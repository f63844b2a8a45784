// SPDX-License-Identifier: MIT
#include "privilege/file_owner.hpp"

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer::privilege {
namespace {

constexpr Owner somebody = {1000, 1001};

/// What is tried is the thread's alone.
template <typename Try>
void in_a_thread(Try attempt)
{
    std::thread(attempt).join();
}

class FileOwnerTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "this is for root";
    }
};

TEST_F(FileOwnerTest, IsHimForAsLongAsItLives)
{
    in_a_thread([] {
        const Owner before = file_owner();
        const auto sets = CapabilitySets::read();
        {
            const FileOwner him(somebody);
            EXPECT_TRUE(static_cast<bool>(him));
            EXPECT_EQ(file_owner(), somebody);
            EXPECT_EQ(::getgroups(0, nullptr), 0);
        }
        EXPECT_EQ(file_owner(), before);
        EXPECT_EQ(*CapabilitySets::read(), *sets);
    });
}

TEST_F(FileOwnerTest, WithoutAnOwnerIsTheThread)
{
    in_a_thread([] {
        const Owner before = file_owner();
        const FileOwner him(std::nullopt);
        EXPECT_TRUE(static_cast<bool>(him));
        EXPECT_EQ(file_owner(), before);
    });
}

TEST_F(FileOwnerTest, IsNotHimWithoutTheRightToBecomeHim)
{
    in_a_thread([] {
        auto sets = CapabilitySets::read();
        ASSERT_TRUE(sets);
        sets->effective &= ~(std::uint64_t{1} << CAP_SETUID);
        ASSERT_TRUE(sets->write());

        const FileOwner him(somebody);

        EXPECT_FALSE(static_cast<bool>(him));
    });
}

} // namespace
} // namespace gpucontainer::privilege
