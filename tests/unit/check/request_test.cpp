// SPDX-License-Identifier: MIT
#include "check/request.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::check {
namespace {

using model::FindingCode;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequestCausesTest : public ::testing::Test {
protected:
    RequestCausesTest()
    {
        driver_.vendor = "nvidia";
        driver_.vendor_name = "NVIDIA";
        driver_.cdi_kind = "nvidia.com/gpu";
        driver_.version = "580.159.04";
        driver_.visible_devices = {{"NVIDIA_VISIBLE_DEVICES",
                                    model::VisibleDevices::Reader::toolkit,
                                    model::VisibleDevices::Inside::nothing},
                                   {"CUDA_VISIBLE_DEVICES"}};
        driver_.nodes.push_back(node("/dev/nvidiactl", 255, -1));
        for (unsigned index = 0; index < 2; ++index) {
            model::Gpu gpu;
            gpu.index = index;
            gpu.minor = static_cast<int>(index);
            gpu.architecture = "9.0";
            driver_.gpus.push_back(gpu);
            driver_.nodes.push_back(
                node("/dev/nvidia" + std::to_string(index), index, static_cast<int>(index)));
        }
        request_.required = {"nvidia"};
        request_.vendor_libs = plan::VendorLibs::none;
    }

    static model::DeviceNode node(const std::string& path, unsigned minor, int gpu)
    {
        model::DeviceNode made;
        made.path = made.host_path = path;
        made.major = 195;
        made.minor = minor;
        made.gpu = gpu;
        made.mode = 0666;
        made.accessible = true;
        return made;
    }

    /// The evidence of each cause, in the order in which they were found.
    std::vector<std::string> look()
    {
        detect::Host host;
        host.drivers =
            std::make_shared<const std::vector<model::DriverStack>>(std::vector{driver_});
        auto planned = plan_request(host, request_, -1, nullptr, causes_);
        EXPECT_TRUE(planned) << planned.error().message();
        planned_ = *std::move(planned);
        judge_grant(host, request_, planned_, causes_);
        std::vector<std::string> evidence;
        for (const model::Cause& cause : causes_)
            evidence.push_back(cause.finding.evidence);
        return evidence;
    }

    void forbid(unsigned gpu)
    {
        driver_.nodes[gpu + 1].accessible = false;
        driver_.nodes[gpu + 1].cgroup_forbids = true;
    }

    model::DriverStack driver_;
    plan::Request request_;
    model::Causes causes_;
    std::optional<plan::Planned> planned_;
};

TEST_F(RequestCausesTest, ARequestThatCanBeMetIsNoCause)
{
    EXPECT_THAT(look(), IsEmpty());
    EXPECT_TRUE(planned_);
}

TEST_F(RequestCausesTest, EachMistakeIsFound)
{
    request_.devices = "7";
    request_.container = {{"NVIDIA_VISIBLE_DEVICES", "void"}, {"NVIDIA_REQUIRE_CUDA", "cuda>=99"}};
    request_.environment = {{"CUDA_VISIBLE_DEVICES", "8"}};
    request_.extras = {"imex-channel:0"};

    EXPECT_THAT(look(), ElementsAre("devices", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                    "NVIDIA_REQUIRE_CUDA", "extras"));
    EXPECT_TRUE(planned_) << "what is right can be planned";
}

TEST_F(RequestCausesTest, NodesThatDoNotWorkHideNoMistake)
{
    driver_.nodes.front().accessible = false;
    request_.devices = "7";
    model::Cause of_host;
    of_host.stage = model::Stage::host;
    of_host.finding.evidence = "/dev/nvidiactl";
    causes_.push_back(of_host);

    EXPECT_THAT(look(), ElementsAre("/dev/nvidiactl", "devices"));
    EXPECT_TRUE(planned_);
}

TEST_F(RequestCausesTest, ASchedulerMayForbidOtherGpus)
{
    forbid(0);
    model::Cause of_host;
    of_host.finding.code = FindingCode::node_inaccessible;
    of_host.finding.evidence = "/dev/nvidia0";
    of_host.blocks = model::Blocks::some;
    causes_ = {of_host};
    EXPECT_THAT(look(), ElementsAre("/dev/nvidia0")) << "nobody says who did it";

    causes_ = {of_host};
    request_.environment = {{"SLURM_STEP_GPUS", "1"}, {"SLURM_JOB_GPUS", "1"}};
    EXPECT_THAT(look(), IsEmpty());
}

TEST_F(RequestCausesTest, ASchedulerThatNamesAForbiddenGpuContradictsItself)
{
    forbid(0);
    request_.environment = {{"SLURM_STEP_GPUS", "0"}};

    EXPECT_THAT(look(), ElementsAre("/dev/nvidia0"));
    EXPECT_EQ(causes_.front().finding.code, FindingCode::variable_contradicted);
    EXPECT_EQ(causes_.front().severity(), model::Severity::error);
}

} // namespace
} // namespace gpucontainer::check
