// SPDX-License-Identifier: MIT
#include "base/format.hpp"

#include "unit/plan/slurm_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

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
    for (const char* other : {"2,3,x", "2,3,GPU-2aaaaaaa"})
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "2,3"}, {"CUDA_VISIBLE_DEVICES", other}}),
                  base::format("3 CUDA_VISIBLE_DEVICES={} grants no GPU that may be used", other));

    allow_only({1, 2});
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "1,2"}, {"CUDA_VISIBLE_DEVICES", "1,2"}}), "1,2")
        << "the 1 could be a position, the 2 could not";
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "1,2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), "1,2");
    EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "5"}}).substr(0, 1), "3")
        << "a list that does not count";
}

/// A number of the vendor's variable counts what the cgroup grants. One that is too high there
/// is one of the host's, and the cgroup knows better.
TEST_F(SlurmTest, IsKnownBetterByTheDeviceCgroupThanByANumberOutsideOfIt)
{
    allow_only({2, 3});
    for (const char* outside : {"2", "3", "2,4", "0,7", " 2, 3"}) {
        EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", outside}}), "2,3") << outside;
        EXPECT_THAT(passed_over(),
                    ElementsAre(base::format("CUDA_VISIBLE_DEVICES={}: ignored: its numbers count "
                                             "from 0 what may be used, and the device cgroup "
                                             "leaves 2 GPUs",
                                             outside)));
        EXPECT_EQ(selection_.passed_over[0].severity(), model::Severity::warning);
        EXPECT_EQ(gpus({{"SLURM_JOB_GPUS", "3"}, {"CUDA_VISIBLE_DEVICES", outside}}), "3")
            << "Slurm's list still counts";
    }
    const auto inside =
        visible_inside(drivers_[0], environment_, selection_.layers, selection_.gpus);
    ASSERT_EQ(inside.size(), 1U);
    EXPECT_EQ(inside[0].action + inside[0].name, "unsetCUDA_VISIBLE_DEVICES");

    for (const char* nothing : {"-1", "8", "2,8", "", "2-3", "2,-1"})
        EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", nothing}}),
                  base::format("3 CUDA_VISIBLE_DEVICES={} grants no GPU that may be used", nothing))
            << "no numbers of this host";
    permit_only({2, 3});
    EXPECT_EQ(gpus({{"CUDA_VISIBLE_DEVICES", "3"}}),
              "3 CUDA_VISIBLE_DEVICES=3 grants no GPU that may be used")
        << "permissions alone are no scheduler's grant";
}

/// What tasks of Slurm find, by how its node is configured.
TEST_F(SlurmTest, IsUnderstoodInEachOfItsLayouts)
{
    const auto uuid = [&](unsigned gpu) { return drivers_[0].gpus[gpu].uuid; };
    const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
    struct Layout {
        const char* what;
        std::vector<int> allowed;
        Environment environment;
        const char* gpus;
    };
    const std::vector<Layout> layouts = {
        {"srun, no ConstrainDevices",
         all,
         {{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "4,5"}},
         "4,5"},
        {"a batch script",
         all,
         {{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "4,5"}},
         "4,5"},
        {"a step of it",
         all,
         {{"SLURM_JOB_GPUS", "4,5"}, {"SLURM_STEP_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "5"}},
         "5"},
        {"the second of two tasks, a GPU each",
         all,
         {{"SLURM_STEP_GPUS", "2"}, {"CUDA_VISIBLE_DEVICES", "2"}},
         "2"},
        {"srun, ConstrainDevices",
         {4, 5},
         {{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}},
         "4,5"},
        {"a batch script, ConstrainDevices",
         {4, 5},
         {{"SLURM_JOB_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", "0,1"}},
         "4,5"},
        {"one of two GPUs, ConstrainDevices",
         {4, 5},
         {{"SLURM_JOB_GPUS", "4,5"}, {"SLURM_STEP_GPUS", "5"}, {"CUDA_VISIBLE_DEVICES", "1"}},
         "5"},
        {"the first of two tasks, ConstrainDevices",
         {1},
         {{"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}},
         "1"},
        {"the second of two tasks, ConstrainDevices",
         {2},
         {{"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}},
         "2"},
        {"UUIDs", all, {{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", uuid(5)}}, "5"},
        {"UUIDs, ConstrainDevices",
         {4, 5},
         {{"SLURM_STEP_GPUS", "4,5"}, {"CUDA_VISIBLE_DEVICES", uuid(5)}},
         "5"},
        {"UUIDs of the second of two tasks, ConstrainDevices",
         {2},
         {{"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", uuid(2)}},
         "2"},
        {"UUIDs alone", all, {{"CUDA_VISIBLE_DEVICES", uuid(6)}}, "6"},
        {"the host's numbers alone, ConstrainDevices",
         {4, 5},
         {{"CUDA_VISIBLE_DEVICES", "4,5"}},
         "4,5"},
        {"the cgroup alone", {6}, {}, "6"},
        {"a UUID that the cgroup forbids", {2}, {{"CUDA_VISIBLE_DEVICES", uuid(3)}}, nullptr},
    };
    for (const Layout& layout : layouts) {
        allow_only(layout.allowed);
        const std::string found = gpus(layout.environment);
        if (layout.gpus != nullptr)
            EXPECT_EQ(found, layout.gpus) << layout.what;
        else
            EXPECT_THAT(found, StartsWith("3 ")) << layout.what;
    }
}

/// Slurm counts in the order of PCI addresses. The numbers of the nodes may be in another one.
TEST_F(SlurmTest, CountsGpusAndNotTheirNodes)
{
    for (DriverStack& driver : drivers_)
        for (model::DeviceNode& node : driver.nodes)
            if (node.gpu >= 0) {
                node.minor = 7 - static_cast<unsigned>(node.gpu);
                node.host_path = node.path = base::format("/dev/nvidia{}", node.minor);
                driver.gpus[static_cast<unsigned>(node.gpu)].minor = static_cast<int>(node.minor);
            }

    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1"}}), "1");
    allow_only({2});
    EXPECT_EQ(gpus({{"SLURM_STEP_GPUS", "1"}, {"CUDA_VISIBLE_DEVICES", "0"}}), "2");
    EXPECT_EQ(selection_.passed_over[0].evidence, "/dev/nvidia6");
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

} // namespace
} // namespace gpucontainer::plan
