// SPDX-License-Identifier: MIT
#include "rootfs/root.hpp"
#include "support/mounting_fixture.hpp"

#include <sys/mount.h>
#include <sys/stat.h>

namespace gpucontainer::rootfs {
namespace {

class MountedRootTest : public test::MountingTest {
protected:
    void mount_tmpfs(const char* path)
    {
        ASSERT_EQ(::mount("test", root_.at(path).c_str(), "tmpfs", 0, "mode=1777"), 0);
    }
};

TEST_F(MountedRootTest, ATmpfsBelowAFileSystemOfTheKernelIsNotForNames)
{
    for (const char* path : {"run", "proc"})
        ASSERT_EQ(::mkdir(root_.at(path).c_str(), 0755), 0);
    mount_tmpfs("run");
    ASSERT_EQ(::mount("/proc", root_.at("proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
    mount_tmpfs("proc/fs");

    const auto root = Root::open(root_.open().get());
    ASSERT_TRUE(root) << root.error().message();
    EXPECT_TRUE(root->is_for_names("/run"));
    EXPECT_FALSE(root->is_for_names("/proc/fs"));
}

} // namespace
} // namespace gpucontainer::rootfs
