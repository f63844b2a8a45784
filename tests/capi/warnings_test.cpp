// SPDX-License-Identifier: MIT
#include "container_root.hpp"

#include <gpucontainer/gpucontainer.hpp>

#include <gmock/gmock.h>
#include <stdexcept>
#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What is told beside the outcome of a call: by undo, of a node that it leaves.
class WarningsTest : public testing::Test {
protected:
    static constexpr const char* place = "/tmp/gpuctr-warnings";

    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        (void)::mkdir(place, 0755);
        ASSERT_EQ(::mount("test", place, "tmpfs", 0, "mode=0755"), 0);
        root_.emplace(std::string(place) + "/root");
        options_.state_dir = std::string(place) + "/state";
        Plan(Host(), {.devices = "0", .write = GPUCTR_WRITE_ALWAYS}, root_->fd())
            .apply(root_->fd(), options_);
        ASSERT_EQ(::mknod(root_->at("/dev/nvidia9").c_str(), S_IFCHR | 0600, ::makedev(195, 9)), 0);
    }

    void TearDown() override
    {
        (void)::unlink((std::string(place) + "/root/dev/nvidia9").c_str());
        root_.reset();
        (void)::umount2(place, MNT_DETACH);
        (void)::rmdir(place);
    }

    std::optional<test::ContainerRoot> root_;
    ApplyOptions options_;
    std::vector<std::string> told_;
};

TEST_F(WarningsTest, AreToldToWhoAsks)
{
    options_.warn = [&](std::string_view text) { told_.emplace_back(text); };

    EXPECT_TRUE(undo(root_->fd(), options_));

    EXPECT_THAT(told_, ElementsAre(HasSubstr("/dev/nvidia9: left: ")));
}

TEST_F(WarningsTest, AreToldOfASetUpFoundByItsJournal)
{
    options_.warn = [&](std::string_view text) { told_.emplace_back(text); };

    for (const Applied applied : State(-1, options_))
        EXPECT_EQ(applied.undo(options_), Undone::undone);

    EXPECT_THAT(told_, ElementsAre(HasSubstr("/dev/nvidia9: left: ")));
}

TEST_F(WarningsTest, AreNobodysWithoutWhoAsks)
{
    EXPECT_TRUE(undo(root_->fd(), options_));
    EXPECT_FALSE(undo(root_->fd(), options_));
}

/// The work is done by then.
TEST_F(WarningsTest, ChangeNothingWhereTheyAreNotTaken)
{
    options_.warn = [](std::string_view) { throw std::runtime_error("not now"); };

    EXPECT_TRUE(undo(root_->fd(), options_));
    options_.warn = [&](std::string_view text) { told_.emplace_back(text); };
    EXPECT_FALSE(undo(root_->fd(), options_));
    EXPECT_THAT(told_, IsEmpty());
}

TEST_F(WarningsTest, AreToldThroughCWithTheCallersData)
{
    gpuctr_apply_options options = options_.native();
    options.warn = [](void* data, const char* text) {
        static_cast<std::vector<std::string>*>(data)->emplace_back(text);
    };
    options.warn_data = &told_;

    EXPECT_EQ(gpuctr_rootfs_undo(root_->fd(), &options, nullptr, nullptr), GPUCTR_OK);

    EXPECT_THAT(told_, ElementsAre(HasSubstr("/dev/nvidia9: left: ")));
}

} // namespace
} // namespace gpucontainer
