// SPDX-License-Identifier: MIT
#include "program/executor.hpp"

#include "mount/calls.hpp"
#include "program/builder.hpp"

#include "apply/sources.hpp"
#include "support/mounting_fixture.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string_view>

namespace gpucontainer::program {
namespace {

using base::UniqueFd;

class AttachTest : public test::MountingTest {
protected:
    void SetUp() override
    {
        MountingTest::SetUp();
        root_.file("source", "ours");
        root_.file("root/target", "theirs");
    }

    UniqueFd clone()
    {
        return UniqueFd(mount::clone_tree(bench_, AT_FDCWD, root_.at("source").c_str(), false));
    }

    UniqueFd guarded()
    {
        UniqueFd mount = clone();
        EXPECT_TRUE(apply::guard(bench_, mount, apply::file_attributes));
        return mount;
    }

    static Block one(const char* path, UniqueFd mount, std::uint32_t flags = 0)
    {
        ProgramBuilder builder;
        const std::int32_t fd = builder.keep(std::move(mount));
        Operation& operation = builder.add(Step::mount, path);
        operation.fd = fd;
        operation.flags = flags;
        operation.attributes = apply::file_attributes;
        return std::move(builder).build();
    }

    bool attach_one(const Block& block)
    {
        return attach(Program(block.get()), open("root").get(), failure_);
    }

    Failure failure_;
};

TEST_F(AttachTest, FollowsALinkOnlyWhereThatWasPlanned)
{
    root_.link("root/link", "target");

    // Some kernels mount over the link itself, others do not.
    const Block plain = one("/link", guarded());
    (void)attach_one(plain);
    EXPECT_FALSE(is_mounted("root/target"));
    EXPECT_TRUE(undo(Program(plain.get()), open("root").get(), failure_));

    const Block following = one("/link", guarded(), follow_target);
    EXPECT_TRUE(attach_one(following));
    EXPECT_TRUE(is_mounted("root/target"));
    EXPECT_TRUE(undo(Program(following.get()), open("root").get(), failure_));
    EXPECT_FALSE(is_mounted("root/target"));
}

TEST_F(AttachTest, HidesNoFileOfTheKernelThroughALink)
{
    root_.directory("root/proc");
    ASSERT_EQ(::mount("/proc", root_.at("root/proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr),
              0);
    root_.link("root/link", "proc/version");

    EXPECT_FALSE(attach_one(one("/link", guarded(), follow_target)));

    EXPECT_EQ(failure_.step, std::string_view("mount where the link leads, at"));
    EXPECT_FALSE(is_mounted("root/proc/version"));
    EXPECT_EQ(::umount2(root_.at("root/proc").c_str(), MNT_DETACH), 0);
}

/// The kernel's own links of /proc are followed, those of an image out of it are not.
TEST_F(AttachTest, HidesNothingElseOfTheKernelAtAPathOfProc)
{
    root_.directory("root/sys");
    root_.directory("root/proc/driver");
    root_.directory("source-directory");
    ASSERT_EQ(::mount("/sys", root_.at("root/sys").c_str(), nullptr, MS_BIND, nullptr), 0);
    root_.link("root/proc/driver/all", "/sys/kernel");
    UniqueFd mount(
        mount::clone_tree(bench_, AT_FDCWD, root_.at("source-directory").c_str(), false));
    ASSERT_TRUE(apply::guard(bench_, mount, apply::file_attributes));

    EXPECT_FALSE(attach_one(one("/proc/driver/all", std::move(mount), follow_target)));

    EXPECT_EQ(failure_.step, std::string_view("mount where the link leads, at"));
    EXPECT_FALSE(is_mounted("root/sys/kernel"));
    EXPECT_EQ(::umount2(root_.at("root/sys").c_str(), MNT_DETACH), 0);
}

TEST_F(AttachTest, HidesNoRootThroughALink)
{
    root_.directory("source-directory");
    root_.link("root/link", "/");
    UniqueFd mount(
        mount::clone_tree(bench_, AT_FDCWD, root_.at("source-directory").c_str(), false));
    ASSERT_TRUE(apply::guard(bench_, mount, apply::file_attributes));

    EXPECT_FALSE(attach_one(one("/link", std::move(mount), follow_target)));

    EXPECT_EQ(failure_.step, std::string_view("mount where the link leads, at"));
}

/// Descriptors that came from another process may be in another order.
TEST_F(AttachTest, TakesAMountBackThatHasOtherFlagsThanWerePlanned)
{
    EXPECT_FALSE(attach_one(one("/target", clone())));

    EXPECT_EQ(failure_.step, std::string_view("verify the flags of the mount at"));
    EXPECT_FALSE(is_mounted("root/target"));
}

/// Before, trees are such that the kernel lets nobody attach them where others see it.
TEST_F(AttachTest, LeavesMountsThatTheContainerMayBindElsewhere)
{
    const Block block = one("/target", guarded());
    ASSERT_TRUE(attach_one(block));

    EXPECT_TRUE(UniqueFd(mount::clone_tree(bench_, open("root/target").get(), "", false)));
    EXPECT_TRUE(undo(Program(block.get()), open("root").get(), failure_));
}

} // namespace
} // namespace gpucontainer::program
