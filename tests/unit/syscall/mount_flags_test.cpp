// SPDX-License-Identifier: MIT
#include "syscall/mount_flags.hpp"

#include "support/temp_root.hpp"
#include "syscall/unique_fd.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace gpucontainer::syscall {
namespace {

/// In a mount namespace of its own.
class MountFlagsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        root_.directory("there");
    }

    test::TempRoot root_;
};

TEST_F(MountFlagsTest, StayWhatTheyAreWhenOneComesToThem)
{
    constexpr auto no_symlinks = static_cast<unsigned long>(MS_NOSYMFOLLOW);
    const std::string path = root_.at("there");
    for (const unsigned long flags :
         {0UL, static_cast<unsigned long>(MS_NOATIME), static_cast<unsigned long>(MS_RELATIME),
          static_cast<unsigned long>(MS_STRICTATIME), MS_STRICTATIME | MS_NODIRATIME | no_symlinks,
          MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NODIRATIME | no_symlinks}) {
        SCOPED_TRACE(flags);
        ASSERT_EQ(::mount("test", path.c_str(), "tmpfs", flags, nullptr), 0);
        const UniqueFd mount(::open(path.c_str(), O_PATH | O_CLOEXEC));
        std::uint64_t before = 0;
        std::uint64_t after = 0;
        ASSERT_TRUE(read_mount_flags(mount.get(), before));

        EXPECT_EQ(add_mount_flags(mount.get(), MS_RDONLY), 0);

        EXPECT_TRUE(read_mount_flags(mount.get(), after));
        EXPECT_EQ(after, before | MS_RDONLY);
        EXPECT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);
    }
}

} // namespace
} // namespace gpucontainer::syscall
