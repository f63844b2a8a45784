// SPDX-License-Identifier: MIT
#include <gpucontainer/gpucontainer.hpp>

#include <array>
#include <gmock/gmock.h>
#include <string>
#include <vector>

namespace gpucontainer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// What a container asks for, as a runtime hands it on.
class EnvironmentTest : public testing::Test {
protected:
    std::vector<std::uint32_t> gpus(const Request& request) const
    {
        const Plan plan(host_, request, -1);
        std::vector<std::uint32_t> all;
        for (const UsedDriver driver : plan.drivers())
            for (const Gpu gpu : driver.gpus())
                all.push_back(gpu.index());
        return all;
    }

    Host host_ = Host(HostOptions{});
};

TEST_F(EnvironmentTest, NarrowsWhatIsChosenForNobody)
{
    Request request;
    request.container_environment = {"NVIDIA_VISIBLE_DEVICES=1", "X", "NVIDIA_VISIBLE_DEVICES=2,3"};
    EXPECT_THAT(gpus(request), ElementsAre(2, 3)) << "the last one counts";
    request.names_devices = true;
    EXPECT_EQ(gpus(request).size(), 8U);
    request.devices = "5";
    request.names_devices = false;
    EXPECT_THAT(gpus(request), ElementsAre(5));
}

TEST_F(EnvironmentTest, IsReadFromATextAndFromTheCallersVariables)
{
    const std::array<const char*, 3> callers = {"APPTAINERENV_B=3", "C=4", nullptr};
    const ContainerEnvironment environment(-1, "A=1\nB=2\nD=$X\n", callers.data());
    EXPECT_THAT(environment.variables(), ElementsAre("A=1", "B=3"));
    std::vector<std::string> findings;
    for (const Finding finding : environment.findings())
        findings.push_back(finding.message());
    EXPECT_THAT(findings, ElementsAre("left out what only a shell would know, in lines 3"));
    EXPECT_THAT(ContainerEnvironment(-1).variables(), IsEmpty());
}

TEST_F(EnvironmentTest, OfATextThatIsNoneIsAnError)
{
    try {
        const ContainerEnvironment environment(-1, "{");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), GPUCTR_E_USAGE);
        EXPECT_EQ(error.argument(), "text");
        EXPECT_THAT(error.what(), HasSubstr("no JSON document"));
    }
    EXPECT_THROW(ContainerEnvironment(-100), Error);
    EXPECT_EQ(gpuctr_environment_read(-1, nullptr, nullptr, nullptr, nullptr), GPUCTR_E_USAGE);
    gpuctr_environment_free(nullptr);
}

} // namespace
} // namespace gpucontainer
