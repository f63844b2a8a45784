// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/intel/intel.hpp"

#include "drivers/intel/kernel.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::drivers::intel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr unsigned drm_major = 226;
constexpr const char* integrated = "0000:00:02.0";

class IntelTest : public ::testing::Test {
protected:
    IntelTest()
    {
        system_.directory("sys/module/i915");
        system_.file("proc/sys/kernel/osrelease", "6.8.0-45-generic\n");
    }

    std::string root() const { return system_.at("sys").parent_path().string(); }

    void part(const std::string& name, unsigned minor, const std::string& address,
              const std::string& driver)
    {
        devices_.parts["drm"].push_back(
            {name, "/dev/dri/" + name, drm_major, minor, address, driver, address});
    }

    /// Card and render node of a PCI function.
    void gpu(const std::string& address, unsigned number, const std::string& driver,
             const std::string& device = "0x56a0\n")
    {
        part(base::format("card{}", number), number, address, driver);
        part(base::format("renderD{}", 128 + number), 128 + number, address, driver);
        system_.file(pci(address) + "device", device);
        function(address, driver);
    }

    void function(const std::string& address, const std::string& driver,
                  std::uint16_t vendor = 0x8086, std::uint32_t pci_class = 0x030000)
    {
        devices_.devices.push_back({address, vendor, 0x56a0, pci_class, driver, 0});
    }

    static std::string pci(const std::string& address)
    {
        return base::format("sys/bus/pci/devices/{}/", address);
    }

    Gpus found()
    {
        auto found = find_gpus(root(), "", devices_);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : Gpus();
    }

    Result<std::optional<model::DriverStack>> detected()
    {
        const auto driver_root = tree_.open_driver();
        return detect({devices_, driver_root, root(), "", {}, ""});
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator devices_;
};

TEST_F(IntelTest, IsNotThereWithoutAGpu)
{
    function("0000:00:1f.0", "", 0x8086, 0x060100);
    gpu("0000:03:00.0", 0, "amdgpu");
    devices_.devices.back().vendor_id = 0x1002;

    const auto driver = detected();

    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_FALSE(*driver);
}

TEST_F(IntelTest, IsDrivenByOneOfTwoKernelDrivers)
{
    gpu(integrated, 0, "i915", "0x9a49\n");
    EXPECT_THAT(test::lines(found().gpus),
                ElementsAre("0 0000:00:02.0 Intel device 9a49: renderD128 card0"));

    devices_.parts.clear();
    gpu("0000:03:00.0", 1, "xe", "0xe20b\n");
    EXPECT_THAT(test::lines(found().gpus),
                ElementsAre("0 0000:03:00.0 Intel device e20b: renderD129 card1"));
}

TEST_F(IntelTest, CountsDiscreteGpusFirst)
{
    gpu(integrated, 0, "i915", "0x4680\n");
    gpu("0000:8c:00.0", 2, "xe");
    gpu("0000:03:00.0", 1, "i915");

    const Gpus all = found();

    EXPECT_THAT(test::lines(all.gpus),
                ElementsAre("0 0000:03:00.0 Intel device 56a0: renderD129 card1",
                            "1 0000:8c:00.0 Intel device 56a0: renderD130 card2",
                            "2 0000:00:02.0 Intel device 4680: renderD128 card0"));
    EXPECT_THAT(
        test::lines(all.wanted),
        ElementsAre("/dev/dri/renderD129 226:129 for 0", "/dev/dri/card1 226:1 for 0, optional",
                    "/dev/dri/renderD130 226:130 for 1", "/dev/dri/card2 226:2 for 1, optional",
                    "/dev/dri/renderD128 226:128 for 2", "/dev/dri/card0 226:0 for 2, optional"));
    EXPECT_THAT(all.findings, IsEmpty());
}

TEST_F(IntelTest, LeavesOutTheDisplaysOfOthers)
{
    part("card0", 0, "0000:02:00.0", "ast");
    gpu("0000:03:00.0", 1, "i915");
    gpu("0000:04:00.0", 2, "amdgpu");
    part("card3", 3, "", "vgem");

    EXPECT_THAT(test::lines(found().gpus),
                ElementsAre("0 0000:03:00.0 Intel device 56a0: renderD129 card1"));
}

TEST_F(IntelTest, MayHaveNoRenderNode)
{
    part("card0", 0, "0000:03:00.0", "i915");

    const Gpus all = found();

    EXPECT_THAT(test::lines(all.gpus), ElementsAre("0 0000:03:00.0 Intel GPU: card0"));
    EXPECT_THAT(test::lines(all.wanted), ElementsAre("/dev/dri/card0 226:0 for 0"));
    ASSERT_THAT(all.findings, SizeIs(1));
    EXPECT_EQ(all.findings[0].message(),
              "GPU 0000:03:00.0: has no render node: programs that compute do not find it");
    EXPECT_EQ(all.findings[0].capability, model::Capability::compute);
}

TEST_F(IntelTest, MayHaveNoDisplay)
{
    part("renderD128", 128, "0000:03:00.0", "xe");

    EXPECT_THAT(test::lines(found().wanted), ElementsAre("/dev/dri/renderD128 226:128 for 0"));
}

TEST_F(IntelTest, KeepsTheLinksOfItsNodes)
{
    gpu("0000:03:00.0", 1, "i915");
    system_.link("dev/dri/by-path/pci-0000:03:00.0-render", "../renderD129");
    system_.link("dev/dri/by-path/pci-0000:03:00.0-card", "../card1");
    system_.link("dev/dri/by-path/pci-0000:04:00.0-card", "../card2");

    const auto wanted = found().wanted;

    ASSERT_THAT(wanted, SizeIs(2));
    EXPECT_THAT(wanted[0].links, ElementsAre("/dev/dri/by-path/pci-0000:03:00.0-render"));
    EXPECT_THAT(wanted[1].links, ElementsAre("/dev/dri/by-path/pci-0000:03:00.0-card"));
}

TEST_F(IntelTest, HasVirtualFunctionsInPlaceOfTheirPhysicalOne)
{
    gpu("0000:03:00.0", 0, "i915");
    gpu("0000:03:00.1", 1, "i915");
    gpu("0000:03:00.2", 2, "i915");
    system_.link(pci("0000:03:00.1") + "physfn", "../0000:03:00.0");
    system_.link(pci("0000:03:00.2") + "physfn", "../0000:03:00.0");

    const Gpus all = found();

    EXPECT_THAT(test::lines(all.gpus),
                ElementsAre("0 0000:03:00.1 Intel device 56a0: renderD129 card1",
                            "1 0000:03:00.2 Intel device 56a0: renderD130 card2"));
    EXPECT_THAT(test::lines(all.findings),
                ElementsAre("GPU 0000:03:00.0: its virtual functions are used in its place"));
}

TEST_F(IntelTest, IsThePhysicalFunctionWhereItsVirtualOnesAreForOthers)
{
    gpu("0000:03:00.0", 0, "i915");
    function("0000:03:00.1", "vfio-pci");
    system_.link(pci("0000:03:00.1") + "physfn", "../0000:03:00.0");
    system_.file(pci("0000:03:00.0") + "sriov_numvfs", "1\n");
    function("0000:04:00.0", "");

    const auto driver = detected();

    ASSERT_TRUE(driver) << driver.error().message();
    ASSERT_TRUE(*driver);
    EXPECT_THAT(test::lines((*driver)->gpus),
                ElementsAre("0 0000:03:00.0 Intel device 56a0: renderD128 card0"));
    for (const char* line : {"GPU 0000:03:00.1: bound to the kernel driver vfio-pci",
                             "GPU 0000:04:00.0: no kernel driver is bound to it",
                             "renderD128: no device node", "card0: no device node"})
        EXPECT_THAT(test::lines((*driver)->findings), ::testing::Contains(HasSubstr(line)));
}

TEST_F(IntelTest, SaysWhatKeepsItsGpus)
{
    function("0000:03:00.0", "vfio-pci");
    function("0000:04:00.0", "", 0x8086, 0x038000);

    auto driver = detected();

    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().code(), Errc::no_device);
    EXPECT_EQ(driver.error().message(), "the kernel module is loaded but drives no Intel GPU");
    EXPECT_EQ(driver.error().hint(), "GPU 0000:03:00.0: bound to the kernel driver vfio-pci; "
                                     "GPU 0000:04:00.0: no kernel driver is bound to it");

    std::filesystem::remove_all(system_.at("sys/module/i915"));
    driver = detected();
    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().message(), "no kernel module, i915 or xe, is loaded");
}

TEST_F(IntelTest, NamesACardWithoutADrmNode)
{
    function("0000:03:00.0", "i915");

    const auto driver = detected();

    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().code(), Errc::no_device);
    EXPECT_EQ(driver.error().hint(), "GPU 0000:03:00.0: bound to the kernel driver i915, which "
                                     "made no DRM device for it");
}

TEST_F(IntelTest, HasAsManyPartsAsTiles)
{
    gpu("0000:3a:00.0", 1, "i915", "0x0bd5\n");
    system_.directory(pci("0000:3a:00.0") + "drm/card1/gt/gt0");
    system_.directory(pci("0000:3a:00.0") + "drm/card1/gt/gt1");
    gpu("0000:9a:00.0", 2, "xe", "0x0bd5\n");
    system_.directory(pci("0000:9a:00.0") + "tile0/gt0");
    system_.directory(pci("0000:9a:00.0") + "tile0/gt1");
    system_.directory(pci("0000:9a:00.0") + "tile1/gt2");
    gpu(integrated, 0, "i915", "0x7d55\n"); // its second unit is for media
    system_.directory(pci(integrated) + "drm/card0/gt/gt0");
    system_.directory(pci(integrated) + "drm/card0/gt/gt1");

    const Gpus all = found();

    ASSERT_THAT(all.gpus, SizeIs(3));
    EXPECT_EQ(all.gpus[0].parts, 2U);
    EXPECT_EQ(all.gpus[1].parts, 2U);
    EXPECT_EQ(all.gpus[2].parts, 1U);
}

TEST_F(IntelTest, GivesNoContainerTheFirmwareOfAGpu)
{
    gpu("0000:03:00.0", 0, "i915");
    devices_.parts["mei"] = {
        {"mei0", "/dev/mei0", 245, 0, "0000:00:16.0", "mei_me", "0000:00:16.0"},
        {"mei1", "/dev/mei1", 245, 1, "i915.mei-gscfi.768", "mei_gsc", "0000:03:00.0"},
        {"mei2", "/dev/mei2", 245, 2, "i915.mei-gsc.768", "mei_gsc", "0000:03:00.0"}};

    const Gpus all = found();

    const std::string reason =
        "the firmware of GPU 0000:03:00.0 is managed through it, which is not for containers";
    EXPECT_THAT(test::lines(all.findings), ElementsAre("mei1: " + reason, "mei2: " + reason));
    EXPECT_THAT(all.wanted, SizeIs(2));
}

TEST_F(IntelTest, HasTheVersionOfTheKernelOrOfItsModule)
{
    EXPECT_EQ(*loaded_version(root()), "6.8.0-45-generic");
    system_.file("sys/module/i915/version", "1.24.3.23\n");
    EXPECT_EQ(*loaded_version(root()), "1.24.3.23");

    std::filesystem::remove_all(system_.at("sys/module/i915"));
    EXPECT_EQ(*loaded_version(root()), std::nullopt);
    system_.directory("sys/module/xe");
    EXPECT_EQ(*loaded_version(root()), "6.8.0-45-generic");
}

TEST_F(IntelTest, NamesTheNodesThatAreNotThere)
{
    gpu("0000:03:00.0", 0, "i915");

    const auto driver = detected();

    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_EQ((*driver)->vendor_name, "Intel");
    ASSERT_THAT((*driver)->visible_devices, SizeIs(1));
    EXPECT_THAT(test::unnamed_variables(**driver), IsEmpty());
    EXPECT_EQ((*driver)->visible_devices[0].name, "ZE_AFFINITY_MASK");
    ASSERT_THAT((*driver)->missing_nodes, SizeIs(1)) << "the card is of use, not needed";
    EXPECT_EQ((*driver)->missing_nodes[0].path, "/dev/dri/renderD128");
}

} // namespace
} // namespace gpucontainer::drivers::intel
