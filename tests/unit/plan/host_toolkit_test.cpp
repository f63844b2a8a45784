// SPDX-License-Identifier: MIT
#include "plan/toolkit.hpp"

#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* bound = "bind there: /usr/local/cuda-12.4 -> /usr/local/cuda ro,nosuid,nodev";
constexpr const char* place = "/usr/local/cuda";

/// The host's CUDA toolkit. The driver is of the branch 580, for CUDA 13.0.
class HostToolkitTest : public PlanTest {
protected:
    HostToolkitTest()
    {
        driver_.version = "580.95.05";
        choose("auto", "12.4");
    }

    void choose(const char* wanted, const std::string& version)
    {
        request_.toolkit.wanted = wanted;
        request_.toolkit.found = {toolkit(version)};
    }

    static drivers::Toolkit toolkit(const std::string& version)
    {
        return {"/usr/local/cuda-" + version, {77, 88, 4096, 5}, version};
    }

    std::vector<std::string> binds() const
    {
        std::vector<std::string> all;
        for (const std::string& text : items({ItemKind::bind}))
            if (text.find("cuda-") != std::string::npos)
                all.push_back(text);
        return all;
    }

    std::vector<std::string> notes() const { return skipped("CUDA toolkit"); }
};

TEST_F(HostToolkitTest, ComesToAnImageThatHasNone)
{
    EXPECT_THAT(binds(), ElementsAre(bound));
    EXPECT_THAT(items({ItemKind::directory}), Contains("directory created:  -> /usr/local/cuda"));
    EXPECT_THAT(warnings(), IsEmpty());

    request_.toolkit.wanted = "";
    request_.toolkit.found.clear();
    EXPECT_THAT(binds(), IsEmpty());
}

TEST_F(HostToolkitTest, ComesWithoutTheDriversFiles)
{
    request_.vendor_libs = VendorLibs::none;
    EXPECT_THAT(binds(), ElementsAre(bound));
    request_.write = Write::never;
    EXPECT_THAT(items({ItemKind::mount}), Contains("mount there: overlay -> /usr/local ro"));
    EXPECT_THAT(items({ItemKind::directory}), Contains("directory overlay:  -> /usr/local/cuda"));
}

TEST_F(HostToolkitTest, LeavesAnImageWhatItHasThere)
{
    const std::string own = "/usr/local/cuda: the image has its own /usr/local/cuda";
    root_.link(place, "nowhere");
    EXPECT_THAT(binds(), IsEmpty());
    EXPECT_THAT(notes(), ElementsAre(own));
    root_.file(place);
    EXPECT_THAT(notes(), ElementsAre(own));
    root_.directory(place);
    root_.file("/usr/local/cuda/version.json");
    EXPECT_THAT(notes(), ElementsAre(own));
    EXPECT_THAT(warnings(), IsEmpty());

    choose("/usr/local/cuda-12.4", "12.4");
    EXPECT_THAT(binds(), IsEmpty());
    EXPECT_THAT(
        warnings(),
        ElementsAre("/usr/local/cuda-12.4: left out: the image has its own /usr/local/cuda"));
}

TEST_F(HostToolkitTest, IsMountedOverAnEmptyDirectory)
{
    root_.directory(place);
    EXPECT_THAT(binds(), ElementsAre(bound));
    EXPECT_THAT(items({ItemKind::directory}), Not(Contains(HasSubstr("/usr/local/cuda"))));
}

TEST_F(HostToolkitTest, IsNotMountedTwice)
{
    const std::string identity = made().identity;
    EXPECT_THAT(identity, HasSubstr("toolkit /usr/local/cuda-12.4\n77:88:4096:5\n"));
    root_.directory(place);
    root_.file("/usr/local/cuda/version.json");
    root_.at(place).device = 77;
    root_.at(place).inode = 88;
    root_.at(place).mount = 9;
    EXPECT_THAT(binds(), IsEmpty());
    EXPECT_THAT(notes(), IsEmpty());
    EXPECT_EQ(made().identity, identity);
    // That of another set-up, which goes first, is nothing to warn of.
    root_.at(place).inode = 89;
    EXPECT_THAT(notes(),
                ElementsAre("/usr/local/cuda: something is mounted on /usr/local/cuda already"));
}

TEST_F(HostToolkitTest, NeedsADirectoryToBeIn)
{
    root_.remove("/usr/local");
    root_.file("/usr/local");
    EXPECT_THAT(binds(), IsEmpty());
    EXPECT_THAT(notes(), ElementsAre(HasSubstr("the image has no directory in which")));
}

TEST_F(HostToolkitTest, OfANewerMinorReleaseIsAWarning)
{
    choose("/usr/local/cuda-13.1", "13.1");
    EXPECT_EQ(binds().size(), 1U);
    EXPECT_THAT(warnings(),
                ElementsAre(HasSubstr("/usr/local/cuda-13.1: it is for CUDA 13.1, and the driver "
                                      "580.95.05 supports CUDA 13.0: ")));
}

TEST_F(HostToolkitTest, OfANewerMajorReleaseIsAnErrorIfItIsNamed)
{
    driver_.version = "550.54.14";
    choose("/usr/local/cuda-13.0", "13.0");
    const auto plan = make();
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), Errc::requirement);
    EXPECT_EQ(plan.error().message(), "CUDA toolkit /usr/local/cuda-13.0: it is for CUDA 13.0, and "
                                      "the driver 550.54.14 supports CUDA 12.4");
    EXPECT_EQ(plan.error().hint(),
              "install driver 580 or later, or a toolkit of CUDA 12.4 or earlier");
    EXPECT_STREQ(plan.error().argument(), "toolkit");
}

TEST_F(HostToolkitTest, IsTheFirstOneThatTheDriverSupports)
{
    driver_.version = "550.54.14";
    choose("auto", "13.0");
    EXPECT_THAT(binds(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("/usr/local/cuda-13.0: left out: ")));

    request_.toolkit.found.push_back(toolkit("12.4"));
    EXPECT_THAT(binds(), ElementsAre(bound));
}

TEST_F(HostToolkitTest, MayBeMissing)
{
    request_.toolkit.found.clear();
    EXPECT_THAT(notes(), ElementsAre("/usr/local/cuda: the host has none"));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(HostToolkitTest, IsNamedByAnAbsolutePath)
{
    ToolkitChoice choice = {"cuda", {}, {}};
    const auto found = find_toolkits({&driver_, 1}, choice);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::usage);
}

} // namespace
} // namespace gpucontainer::plan
