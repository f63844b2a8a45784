// SPDX-License-Identifier: MIT
#include "check/image_files.hpp"

#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gpucontainer::check {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ImageFilesTest : public ::testing::Test {
protected:
    ImageFilesTest()
    {
        model::DeviceNode node;
        node.path = node.host_path = "/dev/kfd";
        node.mode = 0660;
        node.gid = 109;
        driver_.nodes = {node};
        driver_.needs = {"a mounted /proc: the driver reads it"};
    }

    model::Causes places() const
    {
        model::Causes causes;
        add_missing_places(view_, std::vector{driver_}, causes);
        return causes;
    }

    model::Causes groups(const std::string& text, bool is_root = false)
    {
        view_.file("/etc/group", text);
        model::Causes causes;
        EXPECT_TRUE(add_group_causes(view_, std::vector{driver_}, is_root, causes));
        return causes;
    }

    test::FakeView view_ = test::FakeView::distribution();
    model::DriverStack driver_;
};

TEST_F(ImageFilesTest, AnImageWithoutProcHasNoPlaceForIt)
{
    ASSERT_THAT(places(), SizeIs(1));
    EXPECT_EQ(places().front().finding.evidence, "/proc");
    view_.directory("/proc");
    EXPECT_THAT(places(), IsEmpty());
}

TEST_F(ImageFilesTest, ADriverThatDoesNotReadProcNeedsNone)
{
    driver_.needs = {"a mounted /sys: the driver reads it"};

    EXPECT_THAT(places(), IsEmpty());
}

TEST_F(ImageFilesTest, AGroupOfAnotherNumberOpensNoNode)
{
    const auto causes = groups("root:x:0:\nvideo:x:44:\nrender:x:993:\n");

    ASSERT_THAT(causes, SizeIs(1));
    EXPECT_THAT(causes.front().finding.text, HasSubstr("has number 993 in the image"));
    EXPECT_EQ(causes.front().severity(), model::Severity::warning);
}

TEST_F(ImageFilesTest, TheSameNumberDoes)
{
    EXPECT_THAT(groups("render:x:109:\n"), IsEmpty());
    EXPECT_THAT(groups("root:x:0:\n"), IsEmpty()) << "without the group nobody counts on it";
    EXPECT_THAT(groups("render:x:993:\nvideo:x:109:\n"), IsEmpty());
}

TEST_F(ImageFilesTest, ARootNeedsNoGroupAndNodesForAllNeither)
{
    EXPECT_THAT(groups("render:x:993:\n", true), IsEmpty());
    driver_.nodes.front().mode = 0666;
    EXPECT_THAT(groups("render:x:993:\n"), IsEmpty());
}

TEST_F(ImageFilesTest, AFileOfGarbageHasNoGroup)
{
    for (const char* text : {"", ":::", "render", "render:x:", "render:x:-1:", "render:x:1e3:",
                             "render:x:99999999999999999999:\n"})
        EXPECT_THAT(groups(text), IsEmpty()) << text;
}

} // namespace
} // namespace gpucontainer::check
