// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "plan/policy.hpp"

#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PolicyTest : public PlanTest {
protected:
    std::vector<unsigned> gpus() const
    {
        std::vector<unsigned> all;
        for (const UsedDriver& driver : made().drivers)
            for (const model::Gpu& gpu : driver.gpus)
                all.push_back(gpu.index);
        return all;
    }
};

TEST_F(PolicyTest, LeavesOutWhatNobodyNamed)
{
    EXPECT_THAT(gpus(), ElementsAre(0, 1));
    request_.allowed_devices = "1";
    EXPECT_THAT(gpus(), ElementsAre(1));
    request_.allowed_devices = "all";
    EXPECT_THAT(gpus(), ElementsAre(0, 1));
}

TEST_F(PolicyTest, RefusesWhatWasNamed)
{
    request_.allowed_devices = "0000:af:00.0";
    for (const char* devices : {"0", "0,1", "all"}) {
        request_.devices = devices;
        EXPECT_EQ(problem(), base::format("6 device {}: GPU 0 is not one of the allowed devices: "
                                          "0000:af:00.0",
                                          devices));
    }
    request_.devices = "1";
    EXPECT_THAT(gpus(), ElementsAre(1));
    request_.devices = "none";
    EXPECT_THAT(gpus(), IsEmpty());
}

TEST_F(PolicyTest, KeepsToTheSchedulersOrder)
{
    request_.environment["CUDA_VISIBLE_DEVICES"] = "1,0";
    request_.allowed_devices = "0";
    EXPECT_THAT(texts(made().variables),
                ElementsAre("set CUDA_VISIBLE_DEVICES=" + driver_.gpus[0].uuid));

    request_.environment["CUDA_VISIBLE_DEVICES"] = "1";
    EXPECT_EQ(problem(), "6 CUDA_VISIBLE_DEVICES=1 leaves none of the allowed devices: 0");

    request_.environment["SLURM_STEP_GPUS"] = "1";
    EXPECT_EQ(problem(), "6 SLURM_STEP_GPUS=1 and CUDA_VISIBLE_DEVICES=1 leave none of the allowed "
                         "devices: 0");
}

TEST_F(PolicyTest, SaysWhatChoseOthers)
{
    request_.allowed_devices = "0";
    request_.devices = "1";
    request_.devices_name = "--device";
    EXPECT_EQ(problem(), "6 --device 1: GPU 1 is not one of the allowed devices: 0");

    request_.devices = "auto";
    for (model::DeviceNode& node : driver_.nodes)
        node.accessible = node.gpu != 0;
    EXPECT_EQ(problem(), "6 none of the allowed devices may be used: 0");
}

TEST_F(PolicyTest, HasToNameGpusOfThisHost)
{
    request_.allowed_devices = "7";
    EXPECT_EQ(problem(), "2 allowed devices: device 7: no such GPU");
    request_.allowed_devices = " Auto";
    EXPECT_EQ(problem(), "2 allowed devices: auto does not say which");
}

} // namespace
} // namespace gpucontainer::plan
