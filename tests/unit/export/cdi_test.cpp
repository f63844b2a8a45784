// SPDX-License-Identifier: MIT
#include "export/cdi.hpp"

#include "cdi/text.hpp"
#include "plan/builder.hpp"
#include "unit/plan/driver_stack.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::exports {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CdiTest : public ::testing::Test {
protected:
    CdiTest()
    {
        request_.layout = plan::Layout::binds;
        request_.devices = "all";
        wanted_.files_directory = "/var/lib/files";
    }

    Result<CdiDocument> make() const
    {
        const std::vector<model::DriverStack> drivers = {driver_};
        auto plan = plan::create_plan(drivers, request_, nullptr);
        if (!plan)
            return std::move(plan).error();
        const plan::Planned planned = {
            *std::move(plan),
            request_,
            std::make_shared<const std::vector<model::DriverStack>>(drivers),
            {}};
        return cdi_document(planned, wanted_);
    }

    CdiDocument made() const
    {
        auto document = make();
        EXPECT_TRUE(document) << document.error().message();
        return document ? *std::move(document) : CdiDocument();
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const cdi::Device& device : made().specification.devices)
            all.push_back(device.name);
        return all;
    }

    /// Paths of the nodes of a device.
    std::vector<std::string> nodes(std::string_view name) const
    {
        std::vector<std::string> all;
        for (const cdi::Device& device : made().specification.devices)
            if (device.name == name)
                for (const cdi::DeviceNode& node : device.edits.nodes)
                    all.push_back(node.path);
        return all;
    }

    model::DriverStack driver_ = test::make_driver();
    plan::Request request_;
    CdiRequest wanted_;
};

TEST_F(CdiTest, HasADeviceForEachNameOfAGpu)
{
    EXPECT_THAT(names(),
                ElementsAre("0", "GPU-aaaaaaaa-1111-2222-3333-444444444444", "0000:3b:00.0", "1",
                            "GPU-aaaaaaaa-5555-6666-7777-888888888888", "0000:af:00.0", "all"));
    EXPECT_THAT(nodes("0"), ElementsAre("/dev/nvidia0"));
    EXPECT_THAT(nodes("0000:af:00.0"), ElementsAre("/dev/nvidia1"));
    EXPECT_THAT(nodes("all"), ElementsAre("/dev/nvidia0", "/dev/nvidia1"));
}

TEST_F(CdiTest, GivesNodesOfAllGpusToEachContainer)
{
    const cdi::Edits common = made().specification.edits;

    ASSERT_EQ(common.nodes.size(), 2U);
    EXPECT_EQ(common.nodes[0], (cdi::DeviceNode{"/dev/nvidiactl", {}, {}, {}, {}, {}, "rw"}));
    EXPECT_EQ(common.nodes[1].path, "/dev/nvidia-uvm");
}

TEST_F(CdiTest, PinsNoNumberAndHasNoHook)
{
    const cdi::Specification specification = made().specification;

    EXPECT_THAT(cdi::to_json(specification),
                Not(::testing::AnyOf(HasSubstr("major"), HasSubstr("hook"))));
    EXPECT_EQ(specification.version, "0.5.0");
    EXPECT_EQ(specification.kind, "nvidia.com/gpu");
}

TEST_F(CdiTest, NamesAnotherPathOfTheHost)
{
    driver_.nodes[2].host_path = "/srv/dev/nvidia0";

    EXPECT_EQ(made().specification.devices.front().edits.nodes.front().host_path,
              "/srv/dev/nvidia0");
}

TEST_F(CdiTest, WritesPartitionsInTheFormThatNamesCanHave)
{
    for (model::Gpu& gpu : driver_.gpus) {
        gpu.uuid = "GPU-aaaaaaaa";
        gpu.pci_address = "0000:3b:00.0";
        gpu.names = {"2/" + std::to_string(gpu.index)};
    }

    EXPECT_THAT(names(),
                ElementsAre("0", "2:0", "GPU-aaaaaaaa", "0000:3b:00.0", "1", "2:1", "all"));
    EXPECT_THAT(nodes("2:1"), ElementsAre("/dev/nvidia1"));
    EXPECT_THAT(nodes("GPU-aaaaaaaa"), ElementsAre("/dev/nvidia0", "/dev/nvidia1"));
}

TEST_F(CdiTest, HasNoDeviceForAWordThatNamesMoreThanWasChosen)
{
    driver_.gpus[1].pci_address = driver_.gpus[0].pci_address;
    request_.devices = "1";

    EXPECT_THAT(names(), ElementsAre("1", "GPU-aaaaaaaa-5555-6666-7777-888888888888", "all"));
}

TEST_F(CdiTest, LeavesOutNamesThatDevicesCannotHave)
{
    driver_.gpus[0].names = {"a name", "-"};

    EXPECT_THAT(names(), Not(Contains(HasSubstr(" "))));
    EXPECT_THAT(names(), Not(Contains("-")));
}

TEST_F(CdiTest, GivesADeviceWithoutNodesThoseOfAll)
{
    for (model::DeviceNode& node : driver_.nodes)
        node.gpu = -1;

    EXPECT_THAT(nodes("1"), Contains("/dev/nvidiactl"));
}

TEST_F(CdiTest, KeepsFilesThatAreMadeOnTheHost)
{
    driver_.files[0].registrations = {{model::Manner::opencl_icd, "nvidia.icd"}};

    const CdiDocument document = made();
    ASSERT_EQ(document.files.size(), 1U);
    EXPECT_EQ(document.files.front().path,
              "/var/lib/files/nvidia.com-gpu/etc/OpenCL/vendors/nvidia.icd");
    EXPECT_EQ(document.files.front().content, "libcuda.so.1\n");
    EXPECT_EQ(document.specification.edits.mounts.front().host_path, document.files.front().path);
}

TEST_F(CdiTest, MountsFilesSoThatTheyCannotBeWritten)
{
    for (const cdi::Mount& mount : made().specification.edits.mounts)
        EXPECT_THAT(mount.options, ElementsAre("ro", "nosuid", "nodev", "bind", "rprivate"));
}

TEST_F(CdiTest, HasGroupsOnlyIfTheyAreAskedFor)
{
    driver_.nodes[2].mode = 0660;
    driver_.nodes[2].gid = 44;

    EXPECT_THAT(made().specification.edits.additional_gids, IsEmpty());
    wanted_.groups = true;
    EXPECT_THAT(made().specification.edits.additional_gids, ElementsAre(44));
    EXPECT_EQ(made().specification.version, "0.7.0");
    wanted_.version = "0.5.0";
    EXPECT_FALSE(make());
}

TEST_F(CdiTest, IsRefusedForOtherPlans)
{
    request_.layout = plan::Layout::merged;
    EXPECT_EQ(make().error().code(), Errc::usage);
    request_.layout = plan::Layout::binds;
    request_.devices = "none";
    EXPECT_EQ(make().error().code(), Errc::no_device);
}

} // namespace
} // namespace gpucontainer::exports
