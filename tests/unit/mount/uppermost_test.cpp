// SPDX-License-Identifier: MIT
#include "mount/uppermost.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "mount/position.hpp"
#include "mount/statmount.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

/// A directory that was opened before anything is mounted there.
class UppermostTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        root_.directory("above/place");
        place_ = open();
    }

    void TearDown() override
    {
        for (const char* name : {"above", "above/place"})
            while (::umount2(root_.at(name).c_str(), MNT_DETACH) == 0)
                continue;
    }

    UniqueFd open() const
    {
        return UniqueFd(::open(root_.at("above/place").c_str(), O_PATH | O_CLOEXEC));
    }

    void mount_at(const char* name) const
    {
        ASSERT_EQ(::mount("test", root_.at(name).c_str(), "tmpfs", 0, nullptr), 0);
    }

    std::uint64_t found() const
    {
        const UniqueFd uppermost(open_uppermost(place_.get()));
        return mount_id(uppermost.get());
    }

    test::TempRoot root_;
    UniqueFd place_;
};

TEST_F(UppermostTest, IsTheDirectoryItselfWhereNothingIsMounted)
{
    EXPECT_EQ(found(), mount_id(place_.get()));
}

TEST_F(UppermostTest, IsTheLastOfSeveralMounts)
{
    for (int i = 0; i < 3; ++i) {
        mount_at("above/place");
        EXPECT_NE(found(), mount_id(place_.get()));
        EXPECT_EQ(found(), mount_id(open().get()));
    }
}

TEST_F(UppermostTest, IsFoundWhereNoPathLeads)
{
    mount_at("above/place");
    const std::uint64_t uppermost = mount_id(open().get());
    mount_at("above");
    ASSERT_FALSE(open());

    EXPECT_EQ(found(), uppermost);
}

TEST_F(UppermostTest, AndWhatIsBelowItAreAtOnePath)
{
    const std::string path = root_.at("above/place");
    EXPECT_TRUE(mounts_at(path).empty());

    mount_at("above/place");
    const UniqueFd below = open();
    mount_at("above/place");
    const UniqueFd uppermost = open();
    const auto at_path = mounts_at(path);

    EXPECT_EQ(at_path.size(), 2U);
    for (const int fd : {below.get(), uppermost.get()}) {
        std::uint64_t number = 0;
        ASSERT_TRUE(table_id(fd, number));
        EXPECT_EQ(table_number(mount_id(fd)), number);
        EXPECT_EQ(path_of_mount(number), path);
        EXPECT_NE(std::ranges::find(at_path, number), at_path.end());
    }
}

} // namespace
} // namespace gpucontainer::mount
