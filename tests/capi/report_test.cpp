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
class ReportTest : public testing::Test {
protected:
    static constexpr const char* place = "/tmp/gpuctr-report";

    void SetUp() override
    {
        if (!test::may_mount())
            GTEST_SKIP() << "mounting is for root";
        (void)::mkdir(place, 0755);
        ASSERT_EQ(::mount("test", place, "tmpfs", 0, "mode=0755"), 0);
        root_.emplace(std::string(place) + "/root");
        options_.state_dir = std::string(place) + "/state";
        Plan(Host(), {.devices = "0", .write = GPUCTR_WRITE_ALWAYS}, root_->fd())
            .apply(root_->fd(), {.state_dir = options_.state_dir});
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
    UndoOptions options_;
    std::vector<std::string> told_;
};

TEST_F(ReportTest, IsMadeToWhoAsks)
{
    options_.report = [&](const Finding& finding) { told_.push_back(finding.message()); };

    EXPECT_TRUE(undo(root_->fd(), options_));

    EXPECT_THAT(told_, ElementsAre(HasSubstr("/dev/nvidia9: left: ")));
}

TEST_F(ReportTest, IsMadeOfASetUpFoundByItsJournal)
{
    options_.report = [&](const Finding& finding) { told_.push_back(finding.message()); };

    for (const auto setup : SetupList(-1, {.state_dir = options_.state_dir}))
        EXPECT_EQ(setup.undo(options_), Undone::undone);

    EXPECT_THAT(told_, ElementsAre(HasSubstr("/dev/nvidia9: left: ")));
}

TEST_F(ReportTest, IsNobodysWithoutWhoAsks)
{
    EXPECT_TRUE(undo(root_->fd(), options_));
    EXPECT_FALSE(undo(root_->fd(), options_));
}

/// The work is done by then.
TEST_F(ReportTest, ChangesNothingIfItIsNotTaken)
{
    options_.report = [](const Finding&) { throw std::runtime_error("not now"); };

    EXPECT_TRUE(undo(root_->fd(), options_));
    options_.report = [&](const Finding& finding) { told_.push_back(finding.message()); };
    EXPECT_FALSE(undo(root_->fd(), options_));
    EXPECT_THAT(told_, IsEmpty());
}

TEST_F(ReportTest, IsMadeThroughCWithTheCallersData)
{
    gpuctr_undo_options options = options_.native();
    options.report = [](void* data, const gpuctr_finding* finding) {
        EXPECT_STREQ(gpuctr_finding_code(finding), "node_left");
        EXPECT_EQ(gpuctr_finding_severity(finding), GPUCTR_SEVERITY_WARNING);
        EXPECT_STREQ(gpuctr_finding_object(finding), "/dev/nvidia9");
        EXPECT_STREQ(gpuctr_finding_hint(finding), "");
        EXPECT_STREQ(gpuctr_finding_evidence(finding), "");
        static_cast<std::vector<std::string>*>(data)->emplace_back(gpuctr_finding_text(finding));
    };
    options.report_data = &told_;

    EXPECT_EQ(gpuctr_rootfs_undo(root_->fd(), &options, nullptr, nullptr), GPUCTR_OK);

    EXPECT_THAT(told_, ElementsAre(HasSubstr("left: ")));
}

} // namespace
} // namespace gpucontainer
