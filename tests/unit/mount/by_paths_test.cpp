// SPDX-License-Identifier: MIT
#include "mount/by_paths.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "support/temp_root.hpp"
#include "syscall/mount_flags.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace gpucontainer::mount {
namespace {

/// In a mount namespace of its own.
class ByPathsTest : public ::testing::Test {
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

TEST_F(ByPathsTest, AttributesComeToThoseThatAMountHas)
{
    constexpr unsigned long no_symlinks = 256; // MS_NOSYMFOLLOW, Linux 5.10
    const std::string path = root_.at("there");
    for (const unsigned long flags :
         {0UL, static_cast<unsigned long>(MS_NOATIME), static_cast<unsigned long>(MS_RELATIME),
          static_cast<unsigned long>(MS_STRICTATIME | MS_NODIRATIME),
          static_cast<unsigned long>(MS_STRICTATIME | MS_NOEXEC), MS_NODEV | no_symlinks}) {
        SCOPED_TRACE(flags);
        ASSERT_EQ(::mount("test", path.c_str(), "tmpfs", flags, nullptr), 0);
        const base::UniqueFd mount(::open(path.c_str(), O_PATH | O_CLOEXEC));
        std::uint64_t before = 0;
        std::uint64_t after = 0;
        ASSERT_TRUE(syscall::read_mount_flags(mount.get(), before));

        EXPECT_EQ(legacy_way.set_attributes(mount.get(), MOUNT_ATTR_NOSUID, 0, false), 0);

        EXPECT_TRUE(syscall::read_mount_flags(mount.get(), after));
        EXPECT_EQ(after, before | MOUNT_ATTR_NOSUID);
        EXPECT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);
    }
}

TEST_F(ByPathsTest, MountsOfACopiedBenchHaveAPlaceEach)
{
    const std::string path = root_.at("there");
    ASSERT_EQ(::mount("test", path.c_str(), "tmpfs", 0, nullptr), 0);
    const base::UniqueFd scratch(::open(path.c_str(), O_PATH | O_CLOEXEC));
    const Bench bench = {Backend::legacy, scratch.get()};

    for (int i = 0; i < 64; ++i) {
        const Bench copy = bench;
        const base::UniqueFd one(legacy_way.new_tmpfs(bench, nullptr));
        const base::UniqueFd other(legacy_way.clone_tree(copy, one.get(), "", false));
        ASSERT_TRUE(one && other);
        EXPECT_NE(mount_id(one.get()), mount_id(other.get()));
    }

    EXPECT_EQ(::umount2(path.c_str(), MNT_DETACH), 0);
}

} // namespace
} // namespace gpucontainer::mount
