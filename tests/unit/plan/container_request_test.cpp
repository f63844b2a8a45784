// SPDX-License-Identifier: MIT
#include "plan/container_request.hpp"

#include "unit/plan/slurm_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What a container asks for, of eight GPUs.
class ContainerRequestTest : public SlurmTest {
protected:
    ContainerRequestTest()
    {
        auto& variables = drivers_.front().visible_devices;
        variables.insert(variables.begin(),
                         {"NVIDIA_VISIBLE_DEVICES", model::VisibleDevices::Reader::toolkit,
                          model::VisibleDevices::Inside::nothing});
        request_.required = {"nvidia"};
    }

    /// Indexes of the first driver's GPUs, "not wanted", or "CODE MESSAGE".
    std::string asked(const std::string& value)
    {
        request_.container["NVIDIA_VISIBLE_DEVICES"] = value;
        findings_.clear();
        model::Findings left_out;
        auto selections = select_devices(drivers_, {request_.devices, environment_, {}}, left_out);
        EXPECT_TRUE(selections) << selections.error().message();
        auto narrowed = narrow_to_asked(drivers_, request_, *std::move(selections), findings_);
        if (!narrowed)
            return base::format("{} {}", static_cast<int>(narrowed.error().code()),
                                narrowed.error().message());
        selection_ = narrowed->front();
        return selection_.wanted ? base::format("{}", fmt::join(selection_.gpus, ","))
                                 : "not wanted";
    }

    std::vector<std::string> found() const
    {
        std::vector<std::string> all;
        for (const model::Finding& finding : findings_)
            all.push_back(base::format("{} {}", name(finding.severity()), finding.message()));
        return all;
    }

    std::vector<UsedDriver> used(const char* vendor = "nvidia") const
    {
        return {UsedDriver{vendor, "580.1", model::VersionSource::module, {}, true}};
    }

    std::string capabilities(const std::string& value)
    {
        request_.container["NVIDIA_DRIVER_CAPABILITIES"] = value;
        findings_.clear();
        return asked_capabilities(used(), request_, findings_);
    }

    Request request_;
    model::Findings findings_;
};

TEST_F(ContainerRequestTest, GetsTheGpusThatItNames)
{
    EXPECT_EQ(asked("0,3"), "0,3");
    EXPECT_EQ(asked("3, 0"), "0,3");
    EXPECT_EQ(asked(drivers_[0].gpus[6].uuid), "6");
    EXPECT_EQ(asked("nvidia.com/gpu=2"), "2");
    EXPECT_EQ(asked("runtime.nvidia.com/gpu=2,nvidia.com/gpu=" + drivers_[0].gpus[5].uuid), "2,5");
    EXPECT_EQ(asked("0-2"), "0,1,2");
    EXPECT_THAT(found(), IsEmpty());
}

TEST_F(ContainerRequestTest, GetsWhatItWouldGetWithoutIfItAsksForAllOrForNothing)
{
    for (const char* value : {"all", "ALL", "nvidia.com/gpu=all", "runtime.nvidia.com/gpu=all", "",
                              " ", "/var/run/nvidia-container-devices", "0,all", "0-7"}) {
        allow_only({0, 1, 2, 3, 4, 5, 6, 7});
        EXPECT_EQ(asked(value), "0,1,2,3,4,5,6,7") << value;
        allow_only({2, 5});
        EXPECT_EQ(asked(value), "2,5") << value;
        EXPECT_THAT(found(), IsEmpty()) << value;
    }
}

TEST_F(ContainerRequestTest, GetsFilesAloneIfItAsksForNone)
{
    EXPECT_EQ(asked("none"), "");
    EXPECT_TRUE(selection_.wanted && selection_.gpus.empty());
}

TEST_F(ContainerRequestTest, GetsNothingIfItWantsNothing)
{
    EXPECT_EQ(asked("void"), "3 NVIDIA_VISIBLE_DEVICES=void of the container asks for no GPUs and "
                             "no files");
    request_.required = {};
    EXPECT_EQ(asked("void").substr(0, 1), "3") << "nothing else is left";
    add_another_vendor();
    EXPECT_EQ(asked("void"), "not wanted");
    EXPECT_THAT(found(),
                ElementsAre("warning NVIDIA GPUs: left out: NVIDIA_VISIBLE_DEVICES=void of "
                            "the container asks for no GPUs and no files"));
}

/// Neither the device cgroup nor permissions nor a scheduler's variable yields to an image.
TEST_F(ContainerRequestTest, GetsNoGpuThatOthersDoNotGrant)
{
    const std::string none = "of the container names no GPU that it may have here";
    allow_only({2, 3});
    EXPECT_EQ(asked("1,2"), "2");
    EXPECT_THAT(found(), ElementsAre("warning NVIDIA_VISIBLE_DEVICES=1,2: the container may not "
                                     "have GPU 1 of these here"));
    EXPECT_EQ(asked("0,1"), "6 NVIDIA_VISIBLE_DEVICES=0,1 " + none);
    permit_only({2, 3});
    EXPECT_EQ(asked("2,4"), "2");
    EXPECT_EQ(asked("4"), "6 NVIDIA_VISIBLE_DEVICES=4 " + none);
    permit_only({0, 1, 2, 3, 4, 5, 6, 7});
    environment_ = {{"SLURM_STEP_GPUS", "5,6"}};
    EXPECT_EQ(asked("all"), "5,6");
    EXPECT_EQ(asked("6,7"), "6");
    EXPECT_EQ(asked("0"), "6 NVIDIA_VISIBLE_DEVICES=0 " + none);
}

TEST_F(ContainerRequestTest, IsRefusedIfAWordNamesNoGpu)
{
    for (const char* word :
         {"8", "x", "MIG-1", "17:00", "amd.com/gpu=0", "management.nvidia.com/gpu=all"})
        EXPECT_EQ(asked(word),
                  base::format("3 NVIDIA_VISIBLE_DEVICES={} of the container: '{}' is not the name "
                               "of a GPU of this host",
                               word, word));
    EXPECT_EQ(asked("8,9,10,11,12,13,14,15").substr(0, 1), "3") << "no container's numbers";
    const std::string long_value = asked(std::string(5000, '0') + "\x1b[2J");
    EXPECT_LT(long_value.size(), 600U);
    EXPECT_EQ(long_value.find('\x1b'), std::string::npos);
    EXPECT_EQ(asked("a\x1b[2J").find('\x1b'), std::string::npos);
}

TEST_F(ContainerRequestTest, DoesNotChangeWhatTheCallerChose)
{
    request_.devices = "1";
    EXPECT_EQ(asked("0"), "1");
    EXPECT_THAT(found(), ElementsAre("note NVIDIA_VISIBLE_DEVICES=0: the container's wish does not "
                                     "count, because the caller chose GPUs"));
    request_.devices = "auto";
    request_.names_devices = true;
    EXPECT_EQ(asked("void"), "0,1,2,3,4,5,6,7");
    request_.capabilities = "utility";
    request_.names_capabilities = true;
    EXPECT_EQ(capabilities("all"), "utility");
}

TEST_F(ContainerRequestTest, ChoosesPartsOfTheDriver)
{
    request_.capabilities = "compute,utility";
    EXPECT_EQ(capabilities("utility"), "utility");
    EXPECT_EQ(capabilities("all"), "all");
    EXPECT_THAT(found(), IsEmpty());
    EXPECT_EQ(capabilities("compute, video,magic,x\x1b"), "compute,video");
    EXPECT_THAT(found(), ElementsAre(HasSubstr("not given to containers: magic, x?")));
    for (const char* nothing : {"", " ", ",", "magic"})
        EXPECT_EQ(capabilities(nothing), "compute,utility") << nothing;
    request_.container["NVIDIA_DRIVER_CAPABILITIES"] = "all";
    EXPECT_EQ(asked_capabilities(used("amd"), request_, findings_), "compute,utility");
}

TEST_F(ContainerRequestTest, GetsTheChannelsOfThisHostThatItNames)
{
    const auto channels = [&](const std::string& value) {
        request_.container["NVIDIA_IMEX_CHANNELS"] = value;
        findings_.clear();
        const model::DriverStack* const driver = drivers_.data();
        return asked_extras(std::span(&driver, 1), request_, findings_);
    };
    EXPECT_THAT(channels("all"), IsEmpty()) << "the host has none";
    EXPECT_THAT(found(), ElementsAre("note NVIDIA_IMEX_CHANNELS=all: this host has no channel "
                                     "'all'"));
    for (const unsigned number : {0U, 5U}) {
        drivers_.front().nodes.push_back(drivers_.front().nodes.front());
        drivers_.front().nodes.back().extra = base::format("imex-channel:{}", number);
    }
    request_.extras = {"gds"};

    EXPECT_THAT(channels("0, 5"), ElementsAre("gds", "imex-channel:0", "imex-channel:5"));
    EXPECT_THAT(channels("all"), ElementsAre("gds", "imex-channel:all"));
    EXPECT_THAT(channels(""), ElementsAre("gds"));
    EXPECT_THAT(found(), IsEmpty());
    for (const char* wrong :
         {"5,7", "7,5,8", ",,x,5", "5,x", "5,-1", "5,0x0", "5,all\n", "5,1048576"}) {
        EXPECT_THAT(channels(wrong), ::testing::Contains("imex-channel:5")) << wrong;
        EXPECT_EQ(findings_.size(), wrong == std::string_view("5,all\n") ? 0U : 1U) << wrong;
    }
    request_.extras = {"no-imex-channel"};
    EXPECT_THAT(channels("0,5"), ElementsAre("no-imex-channel"));
    EXPECT_THAT(found(), ElementsAre("note NVIDIA_IMEX_CHANNELS=0,5: the container's wish does not "
                                     "count, because of no-imex-channel"));
}

TEST_F(ContainerRequestTest, HasRequirementsOfThisVendor)
{
    request_.container = {{"NVIDIA_REQUIRE_CUDA", "cuda>=12.4 brand=tesla,driver>=470"},
                          {"NVIDIA_REQUIRE_ARCH", "arch>=9.0"},
                          {"NVIDIA_REQUIRE_NOTHING", ""},
                          {"NVIDIA_REQUIRE_JETPACK", "csv-mounts=all"}};
    auto asked = asked_requirements(used(), request_);
    ASSERT_TRUE(asked) << asked.error().message();
    ASSERT_EQ(asked->size(), 3U);
    EXPECT_EQ(asked->front().variable, "NVIDIA_REQUIRE_ARCH");
    EXPECT_EQ((*asked)[1].expression.alternatives.size(), 2U);
    EXPECT_TRUE((*asked)[2].expression.alternatives.empty());

    asked = asked_requirements(used("amd"), request_);
    ASSERT_TRUE(asked);
    EXPECT_THAT(*asked, IsEmpty());
    for (const char* disabled : {"1", "true", "TRUE", "True", "t"}) {
        request_.container["NVIDIA_DISABLE_REQUIRE"] = disabled;
        asked = asked_requirements(used(), request_);
        ASSERT_TRUE(asked);
        EXPECT_THAT(*asked, IsEmpty());
    }
    request_.container["NVIDIA_DISABLE_REQUIRE"] = "false";
    EXPECT_EQ(asked_requirements(used(), request_)->size(), 3U);

    request_.container["NVIDIA_REQUIRE_X"] = "cuda >= 1";
    const auto wrong = asked_requirements(used(), request_);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code(), Errc::usage);
    EXPECT_THAT(wrong.error().message(), HasSubstr("NVIDIA_REQUIRE_X of the container: "));
    request_.container.clear();
    for (int i = 0; i < 65; ++i)
        request_.container[base::format("NVIDIA_REQUIRE_{}", i)] = "cuda>=1";
    EXPECT_FALSE(asked_requirements(used(), request_));
}

/// A vendor whose runtime counts nodes.
TEST_F(ContainerRequestTest, NamesGpusAsEachVendorsRuntimeDoes)
{
    auto& driver = drivers_.front();
    driver.visible_devices = {{"NVIDIA_VISIBLE_DEVICES", model::VisibleDevices::Reader::runtime,
                               model::VisibleDevices::Inside::name, "accel"}};
    for (model::Gpu& gpu : driver.gpus)
        gpu.names = {base::format("accel{}", gpu.index + 1)};
    EXPECT_EQ(asked("1,8"), "0,7");
    EXPECT_EQ(asked("all"), "0,1,2,3,4,5,6,7");
    EXPECT_EQ(asked("none"), "");
    EXPECT_EQ(asked("0").substr(0, 1), "3");
}

} // namespace
} // namespace gpucontainer::plan
