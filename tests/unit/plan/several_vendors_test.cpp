// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "plan/builder.hpp"
#include "plan/policy.hpp"
#include "plan/selection.hpp"

#include "unit/plan/driver_stack.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace gpucontainer::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two GPUs of one vendor, and one GPU of another in four partitions.
class SeveralVendorsTest : public ::testing::Test {
protected:
    SeveralVendorsTest()
    {
        model::DriverStack other;
        other.vendor = "amd";
        other.vendor_name = "AMD";
        other.cdi_kind = "amd.com/gpu";
        other.version = "6.12.12";
        other.root = "/";
        using Visible = model::VisibleDevices;
        other.visible_devices = {
            {"RUNTIME_DEVICES", Visible::Reader::runtime, Visible::Inside::nothing},
            {"FIRST_DEVICES", Visible::Reader::library, Visible::Inside::position},
            {"SECOND_DEVICES", Visible::Reader::library, Visible::Inside::position}};
        for (unsigned i = 0; i < 4; ++i) {
            model::Gpu gpu = test::make_gpu(i, "GPU-00112233445566ff", "0000:c1:00.0");
            gpu.names = {base::format("0/{}", i)};
            other.gpus.push_back(gpu);
            other.nodes.push_back(test::make_node(base::format("/dev/dri/renderD{}", 128 + i), 226,
                                                  128 + i, static_cast<int>(i)));
        }
        drivers_.push_back(std::move(other));
    }

    std::string choose(std::string_view list, const std::set<std::string>& required = {})
    {
        const auto found = select_devices(drivers_, {list, environment_, required}, left_out_);
        if (!found)
            return found.error().message();
        return text(*found);
    }

    static std::string text(const std::vector<Selection>& selections)
    {
        std::vector<std::string> all;
        for (const Selection& selection : selections)
            all.push_back(selection.wanted ? base::format("{}", fmt::join(selection.gpus, ","))
                                           : "-");
        return base::format("{}", fmt::join(all, " | "));
    }

    std::vector<std::string> inside()
    {
        const auto found = select_devices(drivers_, {"auto", environment_, {}}, left_out_);
        EXPECT_TRUE(found);
        std::vector<std::string> all;
        for (const Variable& variable :
             visible_inside(drivers_[1], environment_, (*found)[1].layers, (*found)[1].gpus))
            all.push_back(base::format("{} {}={}", variable.action, variable.name, variable.value));
        return all;
    }

    void forbid_all_of(std::size_t driver)
    {
        for (model::DeviceNode& node : drivers_[driver].nodes)
            node.accessible = false;
    }

    std::vector<model::DriverStack> drivers_ = {test::make_driver()};
    Environment environment_;
    model::Findings left_out_;
};

TEST_F(SeveralVendorsTest, AreAllTakenAutomatically)
{
    EXPECT_EQ(choose("auto"), "0,1 | 0,1,2,3");
    EXPECT_EQ(choose("all"), "0,1 | 0,1,2,3");
    EXPECT_EQ(choose("none"), " | ");
}

TEST_F(SeveralVendorsTest, AreToldApartByTheirCdiKind)
{
    EXPECT_EQ(choose("nvidia.com/gpu=1"), "1 | -");
    EXPECT_EQ(choose("nvidia.com/gpu=0-1"), "0,1 | -");
    EXPECT_EQ(choose("nvidia.com/gpu=all,nvidia.com/gpu=none"), "0,1 | -");
    EXPECT_EQ(choose("other.com/gpu=1"), "device other.com/gpu=1: no such GPU");
    EXPECT_EQ(choose("nvidia.com/gpu=7"), "device nvidia.com/gpu=7: no such GPU");
}

TEST_F(SeveralVendorsTest, ShareNoIndexes)
{
    EXPECT_EQ(choose("0"), "device 0: may mean GPUs of several vendors");
    EXPECT_EQ(choose("0-1"), "device 0-1: may mean GPUs of several vendors");
}

TEST_F(SeveralVendorsTest, AreToldApartByWhatNamesOneAlone)
{
    EXPECT_EQ(choose("0000:3b:00.0"), "0 | -");
    EXPECT_EQ(choose("0/2"), "- | 2");
    EXPECT_EQ(choose("0000:3b:00.0,0/3,0/1"), "0 | 1,3");
    EXPECT_EQ(choose("0000:3c:00.0"), "device 0000:3c:00.0: no such GPU");
}

TEST_F(SeveralVendorsTest, AreNotNamedByABeginningThatIsTooShort)
{
    EXPECT_EQ(choose("GPU-00112"),
              "device GPU-00112: too short: a UUID needs at least 8 characters");
    EXPECT_EQ(choose("GPU-ffff"), "device GPU-ffff: no such GPU");
    EXPECT_EQ(choose("GPU-"), "device GPU-: too short: a UUID needs at least 8 characters");
}

TEST_F(SeveralVendorsTest, AreNotNamedByARangeThatIsNone)
{
    EXPECT_EQ(choose("1-0"), "device 1-0: the range ends before it begins");
    EXPECT_EQ(choose("0-"), "device 0-: a range without an end");
    EXPECT_EQ(choose("amd.com/gpu=0-9"), "device amd.com/gpu=0-9: the last GPU is 3");
}

TEST_F(SeveralVendorsTest, GiveAllPartitionsOfAGpuByItsName)
{
    EXPECT_EQ(choose("c1:00.0"), "- | 0,1,2,3");
    EXPECT_EQ(choose("GPU-00112233445566ff"), "- | 0,1,2,3");
    EXPECT_EQ(choose("0x00112233445566FF"), "- | 0,1,2,3");
    EXPECT_EQ(choose("00112233"), "- | 0,1,2,3");
}

TEST_F(SeveralVendorsTest, GoWithoutOneThatMayNotBeUsed)
{
    forbid_all_of(1);

    EXPECT_EQ(choose("auto"), "0,1 | -");
    ASSERT_EQ(left_out_.size(), 1U);
    EXPECT_EQ(left_out_[0].object, "AMD GPUs");
    EXPECT_EQ(left_out_[0].text, "left out: none of the 4 AMD GPUs may be used");
    EXPECT_EQ(choose("auto", {"amd"}), "none of the 4 AMD GPUs may be used");
    forbid_all_of(0);
    EXPECT_EQ(choose("auto"), "none of the 2 NVIDIA GPUs may be used");
}

TEST_F(SeveralVendorsTest, GoWithoutOneWhoseGpusAllNeedANodeThatIsNotThere)
{
    drivers_[1].missing_nodes = {test::make_node("/dev/kfd", 510, 0)};

    EXPECT_EQ(choose("auto"), "0,1 | -");
    ASSERT_EQ(left_out_.size(), 1U);
    EXPECT_EQ(left_out_[0].text,
              "left out: /dev/kfd: the device node is missing or another device");
    EXPECT_EQ(choose("auto", {"amd"}), "/dev/kfd: the device node is missing or another device");
}

TEST_F(SeveralVendorsTest, GoWithoutOneWhoseGpusAllNeedANodeThatMayNotBeUsed)
{
    drivers_[1].nodes.push_back(test::make_node("/dev/kfd", 510, 0));
    drivers_[1].nodes.back().accessible = false;

    EXPECT_EQ(choose("auto"), "0,1 | -");
    ASSERT_EQ(left_out_.size(), 1U);
    EXPECT_EQ(
        left_out_[0].text,
        "left out: /dev/kfd: may not be used: its permissions or the device cgroup forbid it");
}

TEST_F(SeveralVendorsTest, KeepToWhatIsAllowedOfEach)
{
    const auto all = select_devices(drivers_, {"auto", environment_, {}}, left_out_);
    const auto named = select_devices(drivers_, {"0/2", environment_, {}}, left_out_);

    EXPECT_EQ(text(*restrict_to("", drivers_, *all)), "0,1 | 0,1,2,3");
    EXPECT_EQ(text(*restrict_to("nvidia.com/gpu=1", drivers_, *all)), "1 | -");
    EXPECT_EQ(text(*restrict_to("nvidia.com/gpu=1,absent.com/gpu=3,c1:00.0", drivers_, *all)),
              "1 | 0,1,2,3");
    EXPECT_EQ(restrict_to("nvidia.com/gpu=1", drivers_, *named).error().message(),
              "device: GPU 2 is not one of the allowed devices: nvidia.com/gpu=1");
}

TEST_F(SeveralVendorsTest, NarrowByVariablesInTurnAndCountAnewInside)
{
    environment_ = {{"FIRST_DEVICES", "3,1,0"}};
    EXPECT_EQ(choose("auto"), "0,1 | 0,1,3");
    // Inside there are 0, 1 and 3, which count as 0, 1 and 2.
    EXPECT_THAT(inside(), ElementsAre("set FIRST_DEVICES=2,1,0"));

    environment_ = {{"FIRST_DEVICES", "3,1,0"}, {"SECOND_DEVICES", "2,0"}};
    EXPECT_EQ(choose("auto"), "0,1 | 0,3");
    // The first leaves 3 and 0, in this order; the second turns it round.
    EXPECT_THAT(inside(), ElementsAre("set FIRST_DEVICES=1,0", "set SECOND_DEVICES=1,0"));

    environment_ = {{"SECOND_DEVICES", "3,x,1"}};
    EXPECT_EQ(choose("auto"), "0,1 | 3");
    EXPECT_THAT(inside(), ElementsAre("set SECOND_DEVICES=0"));
}

TEST_F(SeveralVendorsTest, ObeyAContainerRuntimesVariable)
{
    environment_ = {{"RUNTIME_DEVICES", "1-2, nonsense ,3"}};
    EXPECT_EQ(choose("auto"), "0,1 | 1,2,3");
    EXPECT_THAT(inside(), ElementsAre("unset RUNTIME_DEVICES="));

    environment_ = {{"RUNTIME_DEVICES", "1-2"}, {"FIRST_DEVICES", "1"}};
    EXPECT_EQ(choose("auto"), "0,1 | 2");
    EXPECT_THAT(inside(), ElementsAre("unset RUNTIME_DEVICES=", "set FIRST_DEVICES=0"));

    environment_ = {{"RUNTIME_DEVICES", "ALL"}};
    EXPECT_EQ(choose("auto"), "0,1 | 0,1,2,3");
    environment_ = {{"RUNTIME_DEVICES", "none"}};
    EXPECT_EQ(choose("auto"), "0,1 | -");
    ASSERT_FALSE(left_out_.empty());
    EXPECT_EQ(left_out_.back().text,
              "left out: RUNTIME_DEVICES=none grants no GPU that may be used");
}

TEST_F(SeveralVendorsTest, MayBeTheFilesOfOneThatHasNoGpus)
{
    drivers_[0].gpus.clear();
    drivers_[0].nodes.clear();
    environment_ = {{"CUDA_VISIBLE_DEVICES", "1"}};

    EXPECT_EQ(choose("auto", {"nvidia"}), " | 0,1,2,3");
    EXPECT_EQ(choose("0/1"), "- | 1");
    EXPECT_EQ(choose("nvidia.com/gpu=0"), "device nvidia.com/gpu=0: no such GPU");
    const auto all = select_devices(drivers_, {"auto", environment_, {}}, left_out_);
    EXPECT_EQ(text(*restrict_to("nvidia.com/gpu=0,amd.com/gpu=2", drivers_, *all)), " | 2");
}

TEST_F(SeveralVendorsTest, AreInOnePlan)
{
    Request request;
    const auto plan = create_plan(drivers_, request, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_EQ(plan->drivers.size(), 2U);
    EXPECT_EQ(plan->drivers[0].vendor, "nvidia");
    EXPECT_EQ(plan->drivers[1].gpus.size(), 4U);
    EXPECT_EQ(device_rules(*plan).size(), 4U + 4U);
}

TEST_F(SeveralVendorsTest, WarnOfOneThatIsLeftOut)
{
    forbid_all_of(0);
    const auto plan = create_plan(drivers_, {}, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_FALSE(plan->findings.empty());
    EXPECT_EQ(plan->findings.front().code, model::FindingCode::vendor_left_out);
    EXPECT_EQ(plan->findings.front().message(),
              "NVIDIA GPUs: left out: none of the 2 NVIDIA GPUs may be used");
}

TEST_F(SeveralVendorsTest, LeaveOutTheDriverThatNobodyNamed)
{
    Request request;
    request.devices = "0/1";
    const auto plan = create_plan(drivers_, request, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_EQ(plan->drivers.size(), 1U);
    EXPECT_EQ(plan->drivers[0].vendor, "amd");
    EXPECT_EQ(device_rules(*plan).size(), 1U);
    EXPECT_THAT(plan->tree_path, IsEmpty()) << "no file is another driver's";
}

TEST_F(SeveralVendorsTest, BringAFileOfOneNameOnce)
{
    drivers_[1].files = {test::make_library("libcuda.so.1", model::Capability::compute, 21),
                         test::make_library("libother.so.1", model::Capability::compute, 22)};
    drivers_[1].files[0].path = "/opt/lib/libcuda.so.580.1";

    const auto plan = create_plan(drivers_, {}, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    std::vector<std::string> sources;
    for (const Item& item : plan->items)
        if (item.kind() == ItemKind::bind)
            sources.emplace_back(item.source());
    EXPECT_THAT(sources, ::testing::UnorderedElementsAre(
                             "/drv/lib/libcuda.so.580.1", "/drv/lib/libnvidia-ml.so.580.1",
                             "/drv/bin/nvidia-smi", "/drv/lib/libother.so.580.1"));
    const auto skipped =
        std::ranges::find(plan->findings, "/opt/lib/libcuda.so.580.1", &model::Finding::evidence);
    ASSERT_NE(skipped, plan->findings.end());
    EXPECT_EQ(skipped->text, "another driver brings a file of this name");
}

TEST_F(SeveralVendorsTest, HaveTheirOwnPartsOfAPlan)
{
    const auto plan = create_plan(drivers_, {}, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    std::map<std::string, Owner> owners;
    for (const Item& item : plan->items)
        owners[item.target] = item.owner;
    EXPECT_EQ(owners["/dev/nvidia1"], (Owner{"nvidia", 1}));
    EXPECT_EQ(owners["/dev/dri/renderD130"], (Owner{"amd", 2}));
    EXPECT_EQ(owners["/dev/nvidiactl"], (Owner{"nvidia", -1}));
    EXPECT_EQ(owners["/usr/lib/gpuctr/lib64/libcuda.so.580.1"], (Owner{"nvidia", -1}));
    EXPECT_EQ(owners["/usr/lib/gpuctr/lib64/libcuda.so.1"], (Owner{"nvidia", -1}));
    for (const char* const shared : {"/usr/lib/gpuctr", "/etc/ld.so.cache"}) {
        ASSERT_TRUE(owners.contains(shared)) << shared;
        EXPECT_EQ(owners[shared], Owner()) << shared;
    }
}

TEST_F(SeveralVendorsTest, KeepTheLinksOfANodeAsLinks)
{
    drivers_[1].nodes[0].links = {"/dev/dri/by-path/pci-0000:c1:00.0-render"};
    Request request;
    request.devices = "0/0";
    const auto plan = create_plan(drivers_, request, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    std::vector<std::string> links;
    for (const Item& item : plan->items)
        if (item.kind() == ItemKind::symlink)
            links.push_back(item.target + " -> " + std::string(item.source()));
    EXPECT_THAT(links, ElementsAre("/dev/dri/by-path/pci-0000:c1:00.0-render -> ../renderD128"));
}

} // namespace
} // namespace gpucontainer::plan
