// SPDX-License-Identifier: MIT
#include "plan/requirements.hpp"

#include "unit/plan/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::plan {
namespace {

class RequirementsTest : public PlanTest {
protected:
    RequirementsTest()
    {
        driver_.version = "470.57.02";
        for (model::Gpu& gpu : driver_.gpus)
            gpu.model = "Tesla T4";
        driver_.gpus[0].architecture = "7.5";
        driver_.gpus[1].architecture = "9.0";
    }

    void require(std::string_view text)
    {
        auto expression = parse_requirement(text);
        ASSERT_TRUE(expression) << expression.error().message();
        request_.requirements.push_back(*std::move(expression));
    }

    std::string hint() const
    {
        const auto plan = make();
        return plan ? "" : plan.error().hint();
    }
};

TEST_F(RequirementsTest, AllOfThemAreMetByThePlan)
{
    require("cuda>=11.4 cuda>=12.4");
    require("driver>=470,arch>=7.5");
    require("");
    EXPECT_EQ(problem(), "no error");

    require("cuda>=12.4");
    EXPECT_EQ(problem(), "7 requirement cuda>=12.4: not met: driver 470.57.02 supports CUDA 11.4");
    EXPECT_EQ(hint(), "install driver 550 or later");
}

TEST_F(RequirementsTest, EachChosenGpuHasToMeetThem)
{
    require("arch>=8.0");
    EXPECT_EQ(problem(),
              "7 requirement arch>=8.0: not met: GPU 0 (Tesla T4) has compute capability "
              "7.5");
    EXPECT_EQ(hint(), "it needs a GPU with arch>=8.0");

    request_.devices = "1";
    EXPECT_EQ(problem(), "no error");

    request_.devices = "0";
    EXPECT_EQ(hint(), "choose GPU 1, which meets it");
}

TEST_F(RequirementsTest, OtherGpusAreProposedIfTheyCanBeChosen)
{
    require("arch>=8.0");
    request_.devices = "0";
    request_.allowed_devices = "0";
    EXPECT_EQ(hint(), "it needs a GPU with arch>=8.0");

    request_.allowed_devices = "";
    for (model::DeviceNode& node : driver_.nodes)
        if (node.gpu == 1)
            node.accessible = false;
    EXPECT_EQ(hint(), "it needs a GPU with arch>=8.0");
}

TEST_F(RequirementsTest, WithoutAGpuTheDriverHasToMeetThem)
{
    request_.devices = "none";
    require("arch>=8.0,brand=geforce,cuda>=11.4");
    EXPECT_EQ(problem(), "no error");
    require("cuda>=11.5");
    EXPECT_EQ(problem(), "7 requirement cuda>=11.5: not met: driver 470.57.02 supports CUDA 11.4");
}

TEST_F(RequirementsTest, ADriverWithoutSuchFactsDoesNotMeetThem)
{
    driver_.vendor = "amd";
    require("");
    EXPECT_EQ(problem(), "no error");
    require("driver>=1");
    EXPECT_EQ(problem(), "7 requirement driver>=1: not met: no driver of NVIDIA is chosen");
    EXPECT_EQ(hint(), "it needs a driver of NVIDIA");
}

TEST_F(RequirementsTest, GpusOfOtherVendorsAreNotLookedAt)
{
    model::DriverStack other = driver_;
    other.vendor = "amd";
    other.cdi_kind = "amd.com/gpu";
    other.nodes.clear();
    other.gpus.resize(1);
    other.gpus[0].architecture = "gfx942";
    const std::array drivers = {driver_, other};
    const std::array used = {UsedDriver{"amd", "6.1", {}, {other.gpus[0]}, true},
                             UsedDriver{"nvidia", "470.57.02", {}, {driver_.gpus[1]}, true}};
    const auto expression = parse_requirement("arch>=9.0");

    ASSERT_TRUE(expression);
    EXPECT_TRUE(check_requirement(*expression, {drivers, used}));
    EXPECT_FALSE(check_requirement(*expression, {drivers, std::span(used).first(1)}));
}

TEST_F(RequirementsTest, HaveTheNamesOfNvidiasImages)
{
    EXPECT_TRUE(parse_requirement("cuda>=1 driver>=1 arch>=1 brand=x"));
    const auto unknown = parse_requirement("cuda>=1 gfx>=9");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code(), Errc::usage);
    EXPECT_EQ(unknown.error().hint(), "known names are cuda, driver, arch, brand");
}

} // namespace
} // namespace gpucontainer::plan
