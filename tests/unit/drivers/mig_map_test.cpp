// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/nvidia/mig_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view whole = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-0a)\n"
                                   "  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n"
                                   "  MIG 1c.2g.10gb  Device  1: (UUID: MIG-2)\n"
                                   "  MIG 1c.2g.10gb  Device  2: (UUID: MIG-GPU-0a/5/1)\n"
                                   "\n"
                                   "# a comment\n"
                                   "GPU 1: NVIDIA A100 (UUID: GPU-0b)\n";

std::string complaint(std::string_view text)
{
    const auto map = parse_mig_map(text);
    return map ? "" : map.error().message();
}

class MigMapTest : public ::testing::Test {
protected:
    MigMapTest()
    {
        for (const unsigned index : {0U, 1U}) {
            model::Gpu gpu;
            gpu.index = index;
            gpu.uuid = index == 0 ? "GPU-0a" : "GPU-0b";
            gpu.model = "NVIDIA A100";
            gpus_.push_back(std::move(gpu));
        }
    }

    void add(unsigned gpu, unsigned gi, unsigned ci) { instances_.push_back({gpu, gi, ci, {}}); }

    /// What does not fit; "" if all does.
    std::string use(std::string_view text)
    {
        add_instances(instances_, gpus_);
        const auto map = parse_mig_map(text);
        EXPECT_TRUE(map) << map.error().message();
        const auto before = gpus_;
        const auto used = use_mig_map(*map, instances_, gpus_);
        EXPECT_TRUE(used || (gpus_ == before && used.error().code() == Errc::requirement));
        return used ? "" : used.error().message();
    }

    std::vector<Instance> instances_;
    std::vector<model::Gpu> gpus_;
};

TEST(MigMap, ReadsWhatNvidiaSmiPrints)
{
    const auto map = parse_mig_map(whole);

    ASSERT_TRUE(map);
    EXPECT_EQ(*map, (MigMap{{{0,
                              "GPU-0a",
                              {{"3g.20gb", 0, "MIG-1"},
                               {"1c.2g.10gb", 1, "MIG-2"},
                               {"1c.2g.10gb", 2, "MIG-GPU-0a/5/1"}}},
                             {1, "GPU-0b", {}}}}));
}

TEST(MigMap, SaysWhichLineIsNone)
{
    EXPECT_EQ(complaint("GPU 0: x (UUID: GPU-0a)\nhello\n"),
              "line 2: not a line of `nvidia-smi -L`");
    EXPECT_EQ(complaint("GPU x: x (UUID: GPU-0a)"), "line 1: not a line of `nvidia-smi -L`");
    EXPECT_EQ(complaint("GPU 0: x (UUID: GPU-0\x01)"), "line 1: not a line of `nvidia-smi -L`");
    EXPECT_EQ(complaint("MIG 1g.5gb Device 0: (UUID: MIG-1)"),
              "line 1: a MIG instance before the first GPU");
    EXPECT_EQ(complaint("GPU 1: x (UUID: GPU-1)\nGPU 0: x (UUID: GPU-0)"),
              "line 2: GPUs are not in the order of their numbers");
    EXPECT_EQ(complaint("GPU 0: x (UUID: GPU-1)\nMIG 1g.5gb Device 0: (UUID: MIG-1)\n"
                        "MIG 1g.5gb Device 0: (UUID: MIG-2)"),
              "line 3: MIG instances are not in the order of their numbers");
    EXPECT_EQ(complaint("GPU 0: x (UUID: GPU-1)\nMIG 1g.5gb Device 0: (UUID: MIG-1)\n"
                        "MIG 1g.5gb Device 1: (UUID: MIG-1)"),
              "line 3: a UUID that was there before");
}

TEST_F(MigMapTest, NamesInstancesInTheirOrder)
{
    add(0, 1, 0);
    add(0, 5, 0);
    add(0, 5, 1);

    EXPECT_EQ(use(whole), "");
    EXPECT_EQ(gpus_[4].uuid, "MIG-GPU-0a/5/1");
    EXPECT_EQ(gpus_[2].model, "NVIDIA A100 MIG 3g.20gb");
    EXPECT_THAT(gpus_[3].names, ElementsAre("0:gi5:ci0", "MIG-GPU-0a/5/0", "0:1"));
}

TEST_F(MigMapTest, IsRefusedIfAUuidNamesAnotherInstance)
{
    add(0, 1, 0);
    add(0, 5, 0);
    add(0, 6, 0);
    EXPECT_EQ(use(whole), "MIG-GPU-0a/5/1 is not 0:gi6:ci0");
}

TEST_F(MigMapTest, IsRefusedIfAPartOfAGpuInstanceHasAnotherProfile)
{
    add(0, 1, 0);
    add(0, 1, 1);
    add(0, 5, 1);
    EXPECT_EQ(use(whole), "device 1 of GPU 0 is 1c.2g.10gb in it, which 0:gi1:ci1 cannot be");
}

TEST_F(MigMapTest, IsRefusedIfAnInstanceIsNotInIt)
{
    add(0, 1, 0);
    add(0, 5, 0);
    add(0, 5, 1);
    add(1, 0, 0);
    EXPECT_EQ(use(whole), "GPU 1 has 0 MIG instances in it, and 1 here");
}

TEST_F(MigMapTest, IsRefusedForAnotherGpu)
{
    add(1, 0, 0);
    EXPECT_EQ(use("GPU 1: x (UUID: GPU-0c)\nMIG 7g.40gb Device 0: (UUID: MIG-1)"),
              "GPU 1 is GPU-0c in it, and GPU-0b here");
    EXPECT_EQ(use_mig_map({}, instances_, gpus_).error().message(),
              "GPU 1 has no MIG instance in it");
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
