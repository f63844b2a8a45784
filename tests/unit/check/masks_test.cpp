// SPDX-License-Identifier: MIT
#include "check/masks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gpucontainer::check {
namespace {

using model::Severity;
using model::VisibleDevices;
using Reader = VisibleDevices::Reader;
using Inside = VisibleDevices::Inside;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MasksTest : public ::testing::Test {
protected:
    /// Eight GPUs of a maker whose libraries read CUDA_VISIBLE_DEVICES.
    MasksTest()
    {
        driver_.vendor = "nvidia";
        for (unsigned i = 0; i < 8; ++i) {
            model::Gpu gpu;
            gpu.index = i;
            gpu.uuid = "GPU-0000000" + std::to_string(i) + "-1111-2222-3333-444444444444";
            driver_.gpus.push_back(std::move(gpu));
        }
        driver_.visible_devices = {{"NVIDIA_VISIBLE_DEVICES", Reader::toolkit, Inside::nothing},
                                   {"CUDA_VISIBLE_DEVICES", Reader::library, Inside::uuid}};
        chosen_ = driver_.gpus;
    }

    /// One whose libraries read several, each within the earlier one.
    void use_several()
    {
        driver_.vendor = "amd";
        VisibleDevices of_others = {"CUDA_VISIBLE_DEVICES", Reader::library, Inside::position};
        of_others.empty_is_unset = true;
        of_others.decides = false;
        of_others.preferred = "HIP_VISIBLE_DEVICES";
        VisibleDevices last = {"HIP_VISIBLE_DEVICES", Reader::library, Inside::position};
        last.empty_is_unset = true;
        driver_.visible_devices = {{"AMD_VISIBLE_DEVICES", Reader::runtime, Inside::nothing},
                                   {"ROCR_VISIBLE_DEVICES", Reader::library, Inside::position},
                                   of_others,
                                   last};
    }

    model::Causes causes() const
    {
        model::Causes causes;
        check_masks(driver_, chosen_, environment_, causes);
        return causes;
    }

    /// The text of the only cause, or how many there are.
    std::string text() const
    {
        const model::Causes found = causes();
        return found.size() == 1 ? found[0].finding.message() : std::to_string(found.size());
    }

    model::DriverStack driver_;
    std::vector<model::Gpu> chosen_;
    std::map<std::string, std::string> environment_;
};

TEST_F(MasksTest, EmptyHidesAll)
{
    EXPECT_THAT(causes(), IsEmpty());
    environment_["CUDA_VISIBLE_DEVICES"] = "";
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::error);
    EXPECT_EQ(found[0].stage, model::Stage::visible);
    EXPECT_EQ(found[0].finding.code, model::FindingCode::gpus_hidden);
    EXPECT_EQ(found[0].finding.evidence, "CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(found[0].finding.message(),
              "CUDA_VISIBLE_DEVICES: is set and empty, which hides all GPUs from programs");
    EXPECT_EQ(found[0].finding.hint, "unset CUDA_VISIBLE_DEVICES in the container, or name GPUs "
                                     "from 0 to 7 in it");
}

TEST_F(MasksTest, NamesNoneOfTheChosen)
{
    environment_["CUDA_VISIBLE_DEVICES"] = "8";
    EXPECT_EQ(text(), "CUDA_VISIBLE_DEVICES: is \"8\", which names none of the 8 GPUs that the "
                      "container gets: programs see no GPU");
    environment_["CUDA_VISIBLE_DEVICES"] = "GPU-99999999-1111-2222-3333-444444444444";
    EXPECT_THAT(causes(), SizeIs(1));
    environment_["CUDA_VISIBLE_DEVICES"] = "7,8";
    EXPECT_THAT(causes(), IsEmpty());
    environment_["CUDA_VISIBLE_DEVICES"] = driver_.gpus[3].uuid;
    EXPECT_THAT(causes(), IsEmpty());
    // It counts what the container gets, and not what the host has.
    chosen_ = {driver_.gpus[3]};
    EXPECT_THAT(causes(), IsEmpty());
    environment_["CUDA_VISIBLE_DEVICES"] = "3";
    EXPECT_EQ(text(), "CUDA_VISIBLE_DEVICES: is \"3\", which names none of the one GPU that the "
                      "container gets: programs see no GPU");
    environment_["CUDA_VISIBLE_DEVICES"] = driver_.gpus[4].uuid;
    EXPECT_THAT(causes(), SizeIs(1));
}

TEST_F(MasksTest, VariableOfARuntimeHasBeenObeyed)
{
    environment_["NVIDIA_VISIBLE_DEVICES"] = "void";
    EXPECT_THAT(causes(), IsEmpty());
    use_several();
    environment_["AMD_VISIBLE_DEVICES"] = "99";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(MasksTest, VariableCountsWhatAnEarlierOneLeaves)
{
    use_several();
    environment_ = {{"ROCR_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "3"}};
    EXPECT_EQ(text(), "HIP_VISIBLE_DEVICES: is \"3\", which counts what ROCR_VISIBLE_DEVICES=3 "
                      "leaves, and names none of that: programs see no GPU");
    environment_["HIP_VISIBLE_DEVICES"] = "0";
    EXPECT_THAT(causes(), IsEmpty());
    environment_["HIP_VISIBLE_DEVICES"] = "";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(MasksTest, VariableOfSomeProgramsIsAWarning)
{
    use_several();
    environment_["CUDA_VISIBLE_DEVICES"] = "9";
    const model::Causes found = causes();
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].severity(), Severity::warning);
    environment_["HIP_VISIBLE_DEVICES"] = "0";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(MasksTest, InstanceThatIsGone)
{
    model::Gpu instance;
    instance.index = 8;
    instance.parent = 1;
    const std::string uuid = driver_.gpus[1].uuid;
    instance.names = {"1:gi5:ci0", "MIG-" + uuid + "/5/0"};
    driver_.gpus.push_back(instance);
    chosen_ = driver_.gpus;
    environment_["CUDA_VISIBLE_DEVICES"] = "MIG-" + uuid + "/5/0";
    EXPECT_THAT(causes(), IsEmpty());
    environment_["CUDA_VISIBLE_DEVICES"] = "MIG-" + uuid + "/9/0";
    EXPECT_THAT(causes(), SizeIs(1));
    environment_["CUDA_VISIBLE_DEVICES"] = "MIG-GPU-99999999-1111-2222-3333-444444444444/5/0";
    EXPECT_THAT(causes(), SizeIs(1));
    // The kernel does not tell the UUIDs of instances, so this may be one; nor, before something
    // has used it, that of a GPU.
    environment_["CUDA_VISIBLE_DEVICES"] = "MIG-99999999-1111-2222-3333-444444444444";
    EXPECT_THAT(causes(), IsEmpty());
    driver_.gpus[7].uuid = "";
    environment_["CUDA_VISIBLE_DEVICES"] = "MIG-GPU-99999999-1111-2222-3333-444444444444/5/0";
    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(MasksTest, ValueIsShownSafely)
{
    environment_["CUDA_VISIBLE_DEVICES"] = "\x1b[31m" + std::string(200, 'x');
    EXPECT_EQ(text().find('\x1b'), std::string::npos);
    EXPECT_LT(text().size(), 250U);
}

TEST_F(MasksTest, NoGpuNoMask)
{
    chosen_.clear();
    environment_["CUDA_VISIBLE_DEVICES"] = "";
    EXPECT_THAT(causes(), IsEmpty());
}

} // namespace
} // namespace gpucontainer::check
