// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "plan/selection.hpp"
#include "plan/visible_devices.hpp"

#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

/// What is chosen of eight GPUs in a job of Slurm.
class SlurmTest : public ::testing::Test {
protected:
    SlurmTest() : drivers_{test::make_driver()}
    {
        DriverStack& driver = drivers_.front();
        driver.gpus.clear();
        driver.nodes = {test::make_node("/dev/nvidiactl", 195, 255)};
        for (unsigned i = 0; i < 8; ++i) {
            driver.gpus.push_back(
                test::make_gpu(i, base::format("GPU-{}aaaaaaa-1111-2222-3333-444444444444", i),
                               base::format("0000:{:02x}:00.0", 16 + i)));
            driver.nodes.push_back(
                test::make_node(base::format("/dev/nvidia{}", i), 195, i, static_cast<int>(i)));
        }
    }

    /// As the device cgroup of a task has it.
    void allow_only(const std::vector<int>& gpus) { forbid(gpus, true); }

    /// As permissions have it.
    void permit_only(const std::vector<int>& gpus) { forbid(gpus, false); }

    void add_another_vendor()
    {
        DriverStack other = drivers_.front();
        other.vendor = "amd";
        other.vendor_name = "AMD";
        other.cdi_kind = "amd.com/gpu";
        other.visible_devices.clear();
        drivers_.push_back(std::move(other));
    }

    /// Indexes of the first driver's, or "CODE MESSAGE".
    std::string gpus(Environment environment)
    {
        environment_ = std::move(environment);
        model::Findings left_out;
        const auto found = select_devices(drivers_, {"auto", environment_, {}}, left_out);
        if (!found)
            return base::format("{} {}", static_cast<int>(found.error().code()),
                                found.error().message());
        selection_ = found->front();
        return base::format("{}", fmt::join(selection_.gpus, ","));
    }

    std::vector<std::string> passed_over() const
    {
        std::vector<std::string> all;
        for (const model::Finding& variable : selection_.passed_over)
            all.push_back(variable.message());
        return all;
    }

    std::vector<DriverStack> drivers_;
    Environment environment_;
    Selection selection_;

private:
    void forbid(const std::vector<int>& others, bool by_cgroup)
    {
        for (model::DeviceNode& node : drivers_.front().nodes) {
            node.accessible = node.gpu < 0 || std::ranges::find(others, node.gpu) != others.end();
            node.cgroup_forbids = by_cgroup && !node.accessible;
        }
    }
};

TEST_F(SlurmTest, CountsTheHostsGpusOfAStepBeforeThoseOfTheJob)
{
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "3"}}), "3");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "0,2-4, 7"}}), "0,2,3,4,7");
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "5,1"}}), "1,5");
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "0-3"}, {"SLURM_STEP_GPUS", "2"}}), "2");
    EXPECT_THAT(passed_over(), IsEmpty());
}

TEST_F(SlurmTest, IsNarrowedByTheVendorsVariable)
{
    // Without a device cgroup Slurm gives it the host's numbers, and the user some of them.
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "2,3"}}), "2,3");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "3"}}), "3");
    EXPECT_EQ(
        gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", drivers_[0].gpus[3].uuid}}),
        "3");
}

TEST_F(SlurmTest, GrantsNoMoreThanBothDo)
{
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "3,4"}}), "3");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}),
              "3 CUDA_VISIBLE_DEVICES=0,1 grants none of the GPUs that SLURM_STEP_GPUS=2,3 leaves");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "-1"}}),
              "3 CUDA_VISIBLE_DEVICES=-1 grants no GPU that may be used");
}

TEST_F(SlurmTest, LeavesItsVariablesAlone)
{
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "3"}}), "3");
    const auto inside =
        visible_inside(drivers_[0], environment_, selection_.layers, selection_.gpus);
    ASSERT_EQ(inside.size(), 1U);
    EXPECT_EQ(inside[0].name, "CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(inside[0].value, drivers_[0].gpus[3].uuid);
}

TEST_F(SlurmTest, GrantsNothingByAListThatCannotBeRead)
{
    for (const char* list : {",", "gpu:2", "0,", "0,,1", "a", "-1", "3-2", "0:1", "0x1", "1.0",
                             "all", "MIG-1", "99999999999999999999", "0 1"})
        EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", list}, {"SLURM_JOB_GPUS", "1"}}),
                  base::format("2 SLURM_STEP_GPUS={}: not a list of numbers", list));
    for (const char* list : {"8", "0,8", "0-8", "0-9999"})
        EXPECT_THAT(gpus({{"SLURM_JOB_GPUS", list}}),
                    StartsWith(base::format("3 SLURM_JOB_GPUS={}: there is no NVIDIA GPU ", list)));
}

TEST_F(SlurmTest, SaysNothingInAnEmptyVariable)
{
    for (const char* empty : {"", " "}) {
        EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", empty}, {"SLURM_JOB_GPUS", "1,2"}}), "1,2");
        EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2"}, {"SLURM_JOB_GPUS", empty}}), "2");
        EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", empty}}), "0,1,2,3,4,5,6,7");
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", empty}, {"CUDA_VISIBLE_DEVICES", "6"}}), "6");
    }
    allow_only({4, 5});
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", ""}, {"SLURM_JOB_GPUS", ""}}), "4,5");
    EXPECT_THAT(passed_over(), IsEmpty());
    allow_only({});
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", ""}}), "6 none of the 8 NVIDIA GPUs may be used");
}

TEST_F(SlurmTest, GrantsWhatPermissionsLeaveOfIt)
{
    permit_only({2, 3});

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1,2"}}), "2");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "0,1"}}),
              "3 SLURM_STEP_GPUS=0,1 grants no GPU that may be used")
        << "others' GPUs may be what is left";
}

TEST_F(SlurmTest, SaysTheSameAsTheDeviceCgroup)
{
    allow_only({4, 5});

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), "4,5");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "5");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "5"}}), "5");
    EXPECT_THAT(passed_over(), IsEmpty());
}

/// Some sites give CUDA's variable the host's numbers in a device cgroup too.
TEST_F(SlurmTest, CountsForTheVendorsVariableThatRepeatsIt)
{
    allow_only({2, 3});
    for (const char* same : {"2,3", " 2, 3", "3,2", "02,03"})
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "2-3"}, {"CUDA_VISIBLE_DEVICES", same}}), "2,3") << same;
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "3"}, {"CUDA_VISIBLE_DEVICES", "3"}}), "3");
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "3"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "3") << "a position";
    for (const char* other : {"3", "2", "2,4", "2,3,x", "2,3,GPU-2aaaaaaa"})
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", other}}),
                  base::format("3 CUDA_VISIBLE_DEVICES={} grants no GPU that may be used", other));
    EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "2,3"}}),
              "3 CUDA_VISIBLE_DEVICES=2,3 grants no GPU that may be used");

    allow_only({1, 2});
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "1,2"}, {"CUDA_VISIBLE_DEVICES", "1,2"}}), "1,2")
        << "the 1 could be a position, the 2 could not";
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "1,2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), "1,2");
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "5"}}).substr(0, 1), "3")
        << "a list that does not count";
}

TEST_F(SlurmTest, HasItsOrderInTheVendorsVariableInside)
{
    allow_only({2, 3});
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", "3,2"}}), "2,3");

    const auto inside =
        visible_inside(drivers_[0], environment_, selection_.layers, selection_.gpus);

    ASSERT_EQ(inside.size(), 1U);
    EXPECT_EQ(inside[0].value, drivers_[0].gpus[3].uuid + "," + drivers_[0].gpus[2].uuid);
}

/// Measured: of two tasks with a GPU each, both had the first one's number.
TEST_F(SlurmTest, YieldsToTheDeviceCgroupOfATask)
{
    allow_only({2});

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}}), "2");
    ASSERT_THAT(passed_over(),
                ElementsAre("SLURM_STEP_GPUS=1: the device cgroup decides: it forbids GPU 1"));
    EXPECT_EQ(selection_.passed_over[0].evidence, "/dev/nvidia1");
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1,2"}}), "2") << "a step's, in a task of it";
}

TEST_F(SlurmTest, NeedNotBeReadWhereTheDeviceCgroupDecides)
{
    allow_only({2, 3});

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "GPU-a,GPU-b"}}), "2,3");
    EXPECT_THAT(passed_over(),
                ElementsAre("SLURM_STEP_GPUS=GPU-a,GPU-b: the device cgroup decides: not a "
                            "list of numbers"));
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "2,9"}, {"CUDA_VISIBLE_DEVICES", "1"}}), "3");
}

/// As in a container with four GPUs, in which the variables of a job outside are set.
TEST_F(SlurmTest, IsNotPassedOverForACgroupThatLeavesMoreGpusThanItLists)
{
    allow_only({2, 3, 4, 5});

    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "4,5"}}), "4,5");
    for (const char* list : {"6,7", "5,6", "0-1,7", "1,1,0-1"})
        EXPECT_THAT(gpus({{"SLURM_JOB_GPUS", list}}),
                    MatchesRegex(base::format("3 SLURM_JOB_GPUS={}: the device cgroup forbids GPU "
                                              "[016] and leaves 4 GPUs, more than the list has",
                                              list)));
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "0-3"}}), "2,3,4,5") << "as many as a task may have";
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "6"}, {"CUDA_VISIBLE_DEVICES", "0"}}).substr(0, 1), "3")
        << "whatever the vendor's variable says";
}

TEST_F(SlurmTest, HasToBeReadWhereACgroupLeavesMoreGpusThanItLists)
{
    allow_only({2, 3, 4});

    for (const char* list : {"gpu:2", "2,a", "2,3,", ",,,", "a,a,a"})
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", list}}),
                  base::format("2 SLURM_JOB_GPUS={}: not a list of numbers", list));
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "3,9"}}),
              "3 SLURM_JOB_GPUS=3,9: there is no NVIDIA GPU 9 on this host");
}

TEST_F(SlurmTest, DoesNotSayWhoseGpusItCounts)
{
    add_another_vendor();

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1"}}),
              "2 SLURM_STEP_GPUS=1: it counts the GPUs of several vendors, and does not say whose");
    allow_only({2, 3});
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "0-9"}}), "2,3") << "eight are the other vendor's";
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "0-8"}}).substr(0, 1), "2");
}

TEST_F(SlurmTest, IsNotAskedWhereGpusAreNamed)
{
    model::Findings left_out;
    environment_ = {{"SLURM_STEP_GPUS", "x"}};
    const auto found = select_devices(drivers_, {"6", environment_, {}}, left_out);

    ASSERT_TRUE(found);
    EXPECT_THAT(found->front().gpus, ElementsAre(6));
    EXPECT_TRUE(found->front().layers.empty());
}

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
