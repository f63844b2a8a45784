// SPDX-License-Identifier: MIT
#include "check/nodes.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gpucontainer::check {
namespace {

using model::Blocks;
using model::DeviceNode;
using model::FindingCode;
using model::Severity;
using model::Stage;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeCausesTest : public ::testing::Test {
protected:
    NodeCausesTest()
    {
        driver_.vendor_name = "NVIDIA";
        driver_.nodes.push_back(node("/dev/nvidiactl", -1));
        for (unsigned index = 0; index < 4; ++index) {
            model::Gpu gpu;
            gpu.index = index;
            gpu.pci_address = "0000:0" + std::to_string(index) + ":00.0";
            driver_.gpus.push_back(gpu);
            driver_.nodes.push_back(
                node("/dev/nvidia" + std::to_string(index), static_cast<int>(index)));
        }
    }

    static DeviceNode node(const std::string& path, int gpu)
    {
        DeviceNode made;
        made.path = made.host_path = path;
        made.gpu = gpu;
        made.mode = 0660;
        made.gid = 44;
        made.accessible = true;
        return made;
    }

    /// Takes the node out and says why, as detection does.
    void lose(std::size_t place, const std::string& problem = "", bool makeable = false)
    {
        DeviceNode lost = driver_.nodes[place];
        driver_.nodes.erase(driver_.nodes.begin() + static_cast<std::ptrdiff_t>(place));
        lost.accessible = false;
        lost.problem = problem;
        lost.makeable = makeable;
        say(FindingCode::node_missing, lost, "no device node: No such file or directory");
        driver_.missing_nodes.push_back(std::move(lost));
    }

    void close(std::size_t place, const std::string& why, bool by_cgroup = false)
    {
        driver_.nodes[place].accessible = false;
        driver_.nodes[place].cgroup_forbids = by_cgroup;
        say(FindingCode::node_inaccessible, driver_.nodes[place], why);
    }

    void say(FindingCode code, const DeviceNode& about, const std::string& why)
    {
        driver_.findings.push_back({code, about.path, why, about.host_path});
    }

    model::Causes causes() const
    {
        model::Causes found;
        add_node_causes(driver_, found);
        return found;
    }

    std::vector<std::string> evidence() const
    {
        std::vector<std::string> paths;
        for (const model::Cause& cause : causes())
            paths.push_back(cause.finding.evidence);
        return paths;
    }

    model::DriverStack driver_;
};

constexpr const char* by_cgroup = "the device cgroup forbids it";

TEST_F(NodeCausesTest, AreNoneIfAllNodesWork) { EXPECT_THAT(causes(), IsEmpty()); }

TEST_F(NodeCausesTest, WithoutTheNodeOfOneGpuTheOthersWork)
{
    lose(2);

    ASSERT_THAT(causes(), SizeIs(1));
    const model::Cause cause = causes().front();
    EXPECT_EQ(cause.finding.message(),
              "GPU 1 (0000:01:00.0): the device node /dev/nvidia1 is missing");
    EXPECT_EQ(cause.finding.evidence, "/dev/nvidia1");
    EXPECT_EQ(cause.severity(), Severity::warning);
    EXPECT_EQ(cause.stage, Stage::host);
}

TEST_F(NodeCausesTest, WithoutANodeForAllGpusNothingWorks)
{
    lose(0);

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().severity(), Severity::error);
    EXPECT_EQ(causes().front().finding.object, "/dev/nvidiactl");
}

TEST_F(NodeCausesTest, SeveralGpusWithTheSameReasonAreOneCause)
{
    close(2, by_cgroup, true);
    close(3, by_cgroup, true);

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().finding.object, "GPUs 1 to 2");
    EXPECT_THAT(causes().front().finding.text, HasSubstr("and so is another"));
    EXPECT_EQ(causes().front().blocks, Blocks::some);
}

TEST_F(NodeCausesTest, WhatAllGpusAndTheirControlNodeShareIsToldOnce)
{
    for (std::size_t place = 0; place < driver_.nodes.size(); ++place)
        close(place, by_cgroup, true);

    EXPECT_THAT(evidence(), ElementsAre("/dev/nvidiactl"));
    EXPECT_EQ(causes().front().severity(), Severity::error);
}

TEST_F(NodeCausesTest, AMissingControlNodeDoesNotHideThatOfAGpu)
{
    lose(4);
    lose(0);

    EXPECT_THAT(evidence(), ElementsAre("/dev/nvidia3", "/dev/nvidiactl"));
}

TEST_F(NodeCausesTest, WithoutAnyUsableGpuNothingWorks)
{
    lose(4);
    lose(3);
    close(2, by_cgroup, true);
    close(1, "its permissions forbid it");

    for (const model::Cause& cause : causes())
        EXPECT_EQ(cause.blocks, Blocks::all) << cause.finding.message();
}

TEST_F(NodeCausesTest, ANodeThatSettingUpMakesIsARemark)
{
    lose(1, "", true);

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().severity(), Severity::note);
}

TEST_F(NodeCausesTest, AWrongNumberIsToldAlsoOfNodesThatNotAllProgramsNeed)
{
    driver_.nodes.push_back(node("/dev/nvidia-uvm", -1));
    driver_.nodes.back().required = false;
    driver_.nodes.back().capability = model::Capability::compute;
    lose(5, "is the character device 511:0, but its kernel driver has 238:0");

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().finding.message(),
              "/dev/nvidia-uvm: is the character device 511:0, but its kernel driver has 238:0; "
              "programs that compute need it");
    EXPECT_EQ(causes().front().severity(), Severity::error);
}

TEST_F(NodeCausesTest, AMissingNodeThatNotAllProgramsNeedIsForOthersToTell)
{
    driver_.nodes.push_back(node("/dev/nvidia-modeset", -1));
    driver_.nodes.back().required = false;
    lose(5);

    EXPECT_THAT(causes(), IsEmpty());
}

TEST_F(NodeCausesTest, WithAnUnusableInstanceTheOthersOfItsGpuWork)
{
    for (unsigned index = 4; index < 6; ++index) {
        model::Gpu instance;
        instance.index = index;
        instance.parent = 0;
        instance.names = {"0:gi" + std::to_string(index) + ":ci0"};
        driver_.gpus.push_back(instance);
        driver_.nodes.push_back(
            node("/dev/nvidia-caps/nvidia-cap" + std::to_string(index), static_cast<int>(index)));
    }
    lose(6);

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_EQ(causes().front().finding.object, "GPU 0:gi5:ci0");
    EXPECT_EQ(causes().front().blocks, Blocks::some);
}

TEST_F(NodeCausesTest, APermissionThatTheModeGivesIsAPolicysDoing)
{
    driver_.nodes[1].mode = 0666;
    close(1, "its permissions forbid it (mode 0666, user 0, group 0)");

    ASSERT_THAT(causes(), SizeIs(1));
    EXPECT_THAT(causes().front().finding.hint, HasSubstr("security policy"));
}

} // namespace
} // namespace gpucontainer::check
