// SPDX-License-Identifier: MIT
#include "explain/names.hpp"

#include "unit/plan/driver_stack.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gpucontainer::explain {
namespace {

using ::testing::ElementsAre;

class NamesTest : public ::testing::Test {
protected:
    NamesTest() { drivers_ = {test::make_driver()}; }

    /// Labels of what is called so, or the problem with its hint.
    std::vector<std::string> called(const std::string& name)
    {
        const auto found = subjects_called(name, drivers_);
        if (!found)
            return {found.error().message(), found.error().hint()};
        std::vector<std::string> labels;
        for (const Subject& subject : *found)
            labels.push_back(subject.label);
        return labels;
    }

    std::vector<model::DriverStack> drivers_;
};

TEST_F(NamesTest, ALibraryHasManyNames)
{
    for (const char* name :
         {"libcuda.so.1", "libcuda.so", "libcuda", "libcuda.so.580.1", "/drv/lib/libcuda.so.580.1"})
        EXPECT_THAT(called(name), ElementsAre("libcuda.so.1")) << name;
}

TEST_F(NamesTest, ANodeIsFoundWithAndWithoutItsDirectory)
{
    for (const char* name : {"/dev/nvidia0", "nvidia0"})
        EXPECT_THAT(called(name), ElementsAre("/dev/nvidia0")) << name;
}

TEST_F(NamesTest, AGpuIsFoundByTheWordsOfRequests)
{
    for (const char* name : {"1", "0000:af:00.0", "af:00.0", "GPU-aaaaaaaa-5555"})
        EXPECT_THAT(called(name), ElementsAre("1")) << name;
}

TEST_F(NamesTest, AnInstanceIsMeantAloneAndNotItsGpu)
{
    model::Gpu instance = test::make_gpu(2, "MIG-1", "0000:3b:00.0");
    instance.parent = 0;
    instance.names = {"0:gi3:ci0"};
    drivers_.front().gpus.push_back(instance);

    EXPECT_THAT(called("0:gi3:ci0"), ElementsAre("0:gi3:ci0"));
    EXPECT_THAT(called("0"), ElementsAre("0"));
}

TEST_F(NamesTest, TheBeginningOfOneNameIsEnough)
{
    EXPECT_THAT(called("libGLX"), ElementsAre("libGLX_nvidia.so.0"));
    EXPECT_THAT(called("nvidia-s"), ElementsAre("nvidia-smi"));
    EXPECT_THAT(called("nvidia"),
                ElementsAre("nvidia: is the beginning of several names",
                            "name one of them: /dev/nvidia-uvm, /dev/nvidia0, /dev/nvidia1, "
                            "/dev/nvidiactl, nvidia-smi"));
}

TEST_F(NamesTest, WhatADriverLacksHasANameToo)
{
    drivers_.front().findings = {
        {model::FindingCode::not_installed, "libnvidia-nscq.so.2", "not installed", "/drv/lib"},
        {model::FindingCode::gpu_unusable, "GPU 0000:d8:00.0", "is bound to another driver",
         "/sys/bus/pci/devices/0000:d8:00.0"},
        {model::FindingCode::rule_ignored, "rule", "has no effect", "/etc/x"}};

    EXPECT_THAT(called("libnvidia-nscq"), ElementsAre("libnvidia-nscq.so.2"));
    EXPECT_THAT(called("0000:d8:00.0"), ElementsAre("GPU 0000:d8:00.0"));
    EXPECT_EQ(called("rule").front(), "rule: no library, tool, device node or GPU has this name");
}

TEST_F(NamesTest, AnUnknownNameIsAnsweredWithSimilarOnes)
{
    EXPECT_THAT(called("smi"),
                ElementsAre("smi: no library, tool, device node or GPU has this name",
                            "similar names: nvidia-smi"));
    EXPECT_EQ(called("libcudaa").back(),
              "did you mean libcuda? `gpuctr-setup list -v` shows all files, nodes and GPUs");
    EXPECT_EQ(called("").size(), 2U);
    EXPECT_EQ(called(std::string(100'000, 'x')).size(), 2U);
}

} // namespace
} // namespace gpucontainer::explain
