// SPDX-License-Identifier: MIT
#include "base/format.hpp"

#include "unit/plan/slurm_fixture.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::plan {
namespace {

/// What NVIDIA's container toolkit reads.
class ToolkitTest : public SlurmTest {
protected:
    ToolkitTest()
    {
        auto& variables = drivers_.front().visible_devices;
        variables.insert(variables.begin(),
                         {"NVIDIA_VISIBLE_DEVICES", model::VisibleDevices::Reader::toolkit,
                          model::VisibleDevices::Inside::nothing});
    }

    std::string visible(const std::string& value, Environment more = {})
    {
        more["NVIDIA_VISIBLE_DEVICES"] = value;
        return gpus(std::move(more));
    }
};

TEST_F(ToolkitTest, ChoosesByIndexUuidAndCdiName)
{
    EXPECT_EQ(visible("3,1"), "1,3");
    EXPECT_EQ(visible("ALL"), "0,1,2,3,4,5,6,7");
    EXPECT_EQ(visible(drivers_[0].gpus[6].uuid + ", 2"), "2,6");
    EXPECT_EQ(visible("nvidia.com/gpu=4,nvidia.com/gpu=" + drivers_[0].gpus[5].uuid), "4,5");
    EXPECT_EQ(visible("nvidia.com/gpu=all"), "0,1,2,3,4,5,6,7");
    EXPECT_EQ(visible("00000000:17:00.0"), "7");
}

TEST_F(ToolkitTest, SaysNothingWhereTheToolkitDoesNothing)
{
    for (const char* value : {"", "void", "VOID", "/var/run/nvidia-container-devices"}) {
        EXPECT_EQ(visible(value, {{"CUDA_VISIBLE_DEVICES", "6"}}), "6") << value;
        EXPECT_EQ(visible(value), "0,1,2,3,4,5,6,7") << value;
    }
}

TEST_F(ToolkitTest, GrantsNothingByAListWithAWordThatNamesNoGpu)
{
    EXPECT_EQ(visible("none"), "3 NVIDIA_VISIBLE_DEVICES=none grants no GPU that may be used");
    const std::vector<std::pair<const char*, const char*>> lists = {
        {"8", "8"},
        {"0:7", "0:7"},
        {"17:00", "17:00"},
        {"MIG-8e8f6868", "MIG-8e8f6868"},
        {"x", "x"},
        {"-1", "-1"},
        {",", ""},
        {" ", ""},
        {"5,0:7", "0:7"},
        {"5, x", "x"},
        {"5,", ""},
        {"5,8", "8"},
        {"5,none", "none"},
        {"5,void", "void"},
        {"amd.com/gpu=5", "amd.com/gpu=5"}};
    for (const auto& [list, word] : lists)
        EXPECT_EQ(visible(list),
                  base::format("3 NVIDIA_VISIBLE_DEVICES={}: '{}' is not the name of a GPU of "
                               "this host",
                               list, word));
}

TEST_F(ToolkitTest, GrantsWhatMayBeUsedOfIt)
{
    allow_only({2, 3});

    EXPECT_EQ(visible("1,2"), "2");
    EXPECT_EQ(visible("all"), "2,3");
    EXPECT_EQ(visible("4,5"), "3 NVIDIA_VISIBLE_DEVICES=4,5 grants no GPU that may be used");
}

TEST_F(ToolkitTest, IsNotHeededByTheProgramsThatCudasVariableIsFor)
{
    EXPECT_EQ(visible("2,3", {{"CUDA_VISIBLE_DEVICES", "3"}}), "3") << "both have the host's";
    EXPECT_EQ(visible("2,3", {{"CUDA_VISIBLE_DEVICES", "0"}}),
              "3 CUDA_VISIBLE_DEVICES=0 grants none of the GPUs that NVIDIA_VISIBLE_DEVICES=2,3 "
              "leaves");
    EXPECT_EQ(visible("2,3", {{"SLURM_STEP_GPUS", "3,4"}}), "3");
    EXPECT_EQ(visible("2", {{"SLURM_STEP_GPUS", "3,4"}, {"CUDA_VISIBLE_DEVICES", "3"}}),
              "3 NVIDIA_VISIBLE_DEVICES=2 grants none of the GPUs that SLURM_STEP_GPUS=3,4 leaves");
}

TEST_F(ToolkitTest, IsUnsetInside)
{
    for (const char* value : {"2,3", "void", "all"}) {
        EXPECT_NE(visible(value), "");
        const auto inside =
            visible_inside(drivers_[0], environment_, selection_.layers, selection_.gpus);
        ASSERT_EQ(inside.size(), 1U);
        EXPECT_EQ(inside[0].action + inside[0].name, "unsetNVIDIA_VISIBLE_DEVICES");
    }
}

/// A runtime gave the container two GPUs, and their numbers outside.
TEST_F(ToolkitTest, HasTheNumbersOfGpusOutsideOfAContainer)
{
    drivers_.front().gpus.resize(2);
    drivers_.front().nodes.resize(3);

    for (const char* value : {"4,5", "1,2", "7,0", "0,1"})
        EXPECT_EQ(visible(value), "0,1") << value;
    EXPECT_EQ(visible("1"), "1");
    for (const char* value : {"5", "5,5", "5,x"})
        EXPECT_EQ(visible(value),
                  base::format("3 NVIDIA_VISIBLE_DEVICES={}: '5' is not the name of a GPU of this "
                               "host",
                               value));
}

} // namespace
} // namespace gpucontainer::plan
