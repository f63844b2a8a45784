// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/habana/habana.hpp"

#include "drivers/habana/kernel.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::drivers::habana {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr unsigned accel_major = 261;
constexpr unsigned control_major = 511;

class HabanaTest : public ::testing::Test {
protected:
    HabanaTest()
    {
        system_.directory("sys/module/habanalabs");
        system_.file("sys/module/habanalabs/version", "1.17.0-28a11ca\n");
    }

    std::string root() const { return system_.at("sys").parent_path().string(); }

    static std::string address(unsigned bus) { return base::format("0000:{:02x}:00.0", bus); }

    void accel(const std::string& name, unsigned minor, const std::string& address,
               const std::string& driver)
    {
        devices_.parts["accel"].push_back(
            {name, "/dev/accel/" + name, accel_major, minor, address, driver, address});
    }

    /// As the kernel's own driver shows one.
    void gaudi(unsigned number, unsigned bus, const std::string& module,
               const std::string& device = "0x1020")
    {
        accel(base::format("accel{}", number), number, address(bus), "habanalabs");
        control("accel", base::format("accel_controlD{}", number), number);
        system_.file(base::format("sys/bus/pci/devices/{}/device", address(bus)), device + "\n");
        if (!module.empty())
            system_.file(base::format("sys/class/accel/accel{}/device/module_id", number),
                         module + "\n");
    }

    void control(const std::string& of_class, const std::string& name, unsigned minor)
    {
        devices_.parts[of_class].push_back(
            {name, "/dev/accel/" + name, control_major, minor, "", "", ""});
    }

    void verbs(unsigned minor, const std::string& address)
    {
        const std::string name = base::format("uverbs{}", minor);
        devices_.parts["infiniband_verbs"].push_back(
            {name, "/dev/infiniband/" + name, 231, 192 + minor, "of some kind", "", address});
    }

    Accelerators found()
    {
        auto found = find_accelerators(root(), devices_);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : Accelerators();
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

TEST_F(HabanaTest, HasANodeAndAControlNodeForEachAccelerator)
{
    gaudi(0, 0x33, "5");
    gaudi(1, 0x34, "4");

    const Accelerators all = found();

    EXPECT_THAT(test::lines(all.gpus),
                ElementsAre("0 0000:33:00.0 Intel Gaudi 2: accel0 module-5",
                            "1 0000:34:00.0 Intel Gaudi 2: accel1 module-4"));
    EXPECT_THAT(test::lines(all.wanted),
                ElementsAre("/dev/accel/accel0 261:0 for 0",
                            "/dev/accel/accel_controlD0 511:0 for 0, optional",
                            "/dev/accel/accel1 261:1 for 1",
                            "/dev/accel/accel_controlD1 511:1 for 1, optional"));
    EXPECT_THAT(all.findings, IsEmpty());
}

TEST_F(HabanaTest, IsToldFromOtherAcceleratorsByItsKernelDriver)
{
    accel("accel0", 0, "0000:00:0b.0", "intel_vpu");
    for (unsigned n = 1; n <= 12; ++n)
        gaudi(n, 0x30 + n, std::to_string(n - 1));
    accel("accel13", 13, "0000:c5:00.1", "amdxdna");
    accel("accel14", 14, "0000:c6:00.0", "qaic");

    const Accelerators all = found();

    ASSERT_THAT(all.gpus, SizeIs(12));
    EXPECT_EQ(test::lines(all.gpus)[0], "0 0000:31:00.0 Intel Gaudi 2: accel1 module-0");
    EXPECT_EQ(test::lines(all.gpus)[9], "9 0000:3a:00.0 Intel Gaudi 2: accel10 module-9");
    EXPECT_EQ(test::lines(all.gpus)[11], "11 0000:3c:00.0 Intel Gaudi 2: accel12 module-11");
    EXPECT_EQ(all.gpus[11].minor, 12);
    EXPECT_THAT(test::lines(all.wanted),
                Contains("/dev/accel/accel_controlD12 511:12 for 11, optional"));
    EXPECT_THAT(test::lines(all.findings), ElementsAre("accel0: of the kernel driver intel_vpu",
                                                       "accel13: of the kernel driver amdxdna",
                                                       "accel14: of the kernel driver qaic"));
}

TEST_F(HabanaTest, IsNotThereBesideAnotherAccelerator)
{
    accel("accel0", 0, "0000:00:0b.0", "intel_vpu");
    std::filesystem::remove_all(system_.at("sys/module/habanalabs"));

    const auto driver = detected();

    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_FALSE(*driver);
}

TEST_F(HabanaTest, HasTheNamesOfOlderKernelDrivers)
{
    for (unsigned n = 0; n < 11; ++n) {
        const std::string name = base::format("hl{}", n);
        devices_.parts["habanalabs"].push_back({name, "/dev/" + name, 240, 2 * n, "", "", ""});
        devices_.parts["habanalabs"].push_back({base::format("hl_controlD{}", n),
                                                base::format("/dev/hl_controlD{}", n), 240,
                                                2 * n + 1, "", "", ""});
        system_.file(base::format("sys/class/habanalabs/{}/pci_addr", name),
                     address(0x10 + n) + "\n");
        system_.file(base::format("sys/class/habanalabs/{}/module_id", name),
                     std::to_string(n) + "\n");
        system_.file(base::format("sys/bus/pci/devices/{}/device", address(0x10 + n)), "0x1000\n");
    }

    const Accelerators all = found();

    EXPECT_EQ(all.prefix, "hl");
    ASSERT_THAT(all.gpus, SizeIs(11));
    EXPECT_EQ(test::lines(all.gpus)[10], "10 0000:1a:00.0 Intel Gaudi: hl10 module-10");
    EXPECT_EQ(all.gpus[10].minor, 10) << "the number in its name";
    EXPECT_THAT(test::lines(all.wanted), Contains("/dev/hl10 240:20 for 10"));
    EXPECT_THAT(test::lines(all.wanted), Contains("/dev/hl_controlD10 240:21 for 10, optional"));
}

/// Out of the kernel's tree, where that has no class of accelerators.
TEST_F(HabanaTest, TellsItsPciFunctionItselfWhereItsDeviceHasNone)
{
    devices_.parts["accel"].push_back({"accel0", "/dev/accel/accel0", 261, 0, "", "", ""});
    control("habanalabs", "accel_controlD0", 1);
    system_.file("sys/class/accel/accel0/device/pci_addr", "0000:4D:00.0\n");
    system_.file("sys/class/accel/accel0/device/module_id", "3\n");
    system_.link("sys/bus/pci/devices/0000:4d:00.0/driver", "../../../bus/pci/drivers/habanalabs");
    system_.file("sys/bus/pci/devices/0000:4d:00.0/device", "0x1061\n");
    devices_.parts["accel"].push_back({"accel1", "/dev/accel/accel1", 261, 1, "", "", ""});

    const Accelerators all = found();

    EXPECT_THAT(test::lines(all.gpus),
                ElementsAre("0 0000:4d:00.0 Intel Gaudi 3: accel0 module-3"));
    EXPECT_THAT(test::lines(all.wanted),
                ElementsAre("/dev/accel/accel0 261:0 for 0",
                            "/dev/accel/accel_controlD0 511:1 for 0, optional"));
    EXPECT_THAT(test::lines(all.findings), ElementsAre("accel1: of an unknown kernel driver"));
}

TEST_F(HabanaTest, NeedsNoModuleNumber)
{
    gaudi(0, 0x33, "");
    gaudi(1, 0x34, "seven");
    gaudi(2, 0x35, "2");

    const Accelerators all = found();

    EXPECT_THAT(test::lines(all.gpus),
                ElementsAre("0 0000:33:00.0 Intel Gaudi 2: accel0",
                            "1 0000:34:00.0 Intel Gaudi 2: accel1",
                            "2 0000:35:00.0 Intel Gaudi 2: accel2 module-2"));
    const std::string reason = "its kernel driver tells no module_id: programs that get some of "
                               "the accelerators do not know which";
    EXPECT_THAT(test::lines(all.findings), ElementsAre("accel0: " + reason, "accel1: " + reason));
}

TEST_F(HabanaTest, LeavesOutWhatHasNoNumber)
{
    accel("accelerator", 7, "0000:33:00.0", "habanalabs");
    accel("accel4294967296", 8, "0000:34:00.0", "habanalabs");
    gaudi(0, 0x35, "0");

    const Accelerators all = found();

    EXPECT_THAT(all.gpus, SizeIs(1));
    EXPECT_THAT(test::lines(all.findings), ElementsAre("accelerator: its name has no number",
                                                       "accel4294967296: its name has no number"));
}

TEST_F(HabanaTest, HasTheVerbsNodesOfItsOwnPorts)
{
    gaudi(0, 0x33, "0");
    gaudi(1, 0x34, "1");
    verbs(0, address(0x17)); // of a network card
    verbs(1, address(0x34));
    verbs(12, address(0x33));
    verbs(13, "");

    EXPECT_THAT(test::lines(found().wanted),
                ElementsAre("/dev/accel/accel0 261:0 for 0",
                            "/dev/accel/accel_controlD0 511:0 for 0, optional",
                            "/dev/infiniband/uverbs12 231:204 for 0, optional",
                            "/dev/accel/accel1 261:1 for 1",
                            "/dev/accel/accel_controlD1 511:1 for 1, optional",
                            "/dev/infiniband/uverbs1 231:193 for 1, optional"));
}

TEST_F(HabanaTest, IsOfAKindThatIsNotKnownYet)
{
    gaudi(0, 0x33, "0", "0x1099");
    EXPECT_EQ(found().gpus[0].model, "Intel Gaudi, device 0x1099");
    gaudi(1, 0x34, "1", "");
    EXPECT_EQ(found().gpus[1].model, "Intel Gaudi");
}

TEST_F(HabanaTest, SaysWhatIsInTheContainer)
{
    gaudi(0, 0x33, "0");

    const auto found = detected();

    ASSERT_TRUE(found) << found.error().message();
    ASSERT_TRUE(*found);
    const model::DriverStack& driver = **found;
    EXPECT_EQ(driver.vendor_name, "Intel Gaudi");
    EXPECT_EQ(driver.version, "1.17.0-28a11ca");
    ASSERT_THAT(driver.visible_devices, SizeIs(3));
    EXPECT_THAT(test::unnamed_variables(driver), IsEmpty());
    EXPECT_EQ(driver.visible_devices[0].name, "HABANA_VISIBLE_DEVICES");
    EXPECT_EQ(driver.visible_devices[0].prefix, "accel");
    ASSERT_THAT(driver.missing_nodes, SizeIs(1));
    EXPECT_EQ(driver.missing_nodes[0].path, "/dev/accel/accel0");
    EXPECT_EQ(devices_.scans, 0) << "looked at every PCI function";
}

TEST_F(HabanaTest, SaysWhatKeepsItsAccelerators)
{
    devices_.devices.push_back({"0000:33:00.0", 0x1da3, 0x1020, 0x120000, "vfio-pci", 0});
    devices_.devices.push_back({"0000:34:00.0", 0x1da3, 0x1020, 0x120000, "", 0});

    auto found = detected();

    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code(), Errc::no_device);
    EXPECT_EQ(found.error().message(),
              "the kernel module habanalabs is loaded but drives no Gaudi accelerator");
    EXPECT_EQ(found.error().hint(),
              "0000:33:00.0 is bound to vfio-pci, 0000:34:00.0 has no kernel driver");

    std::filesystem::remove_all(system_.at("sys/module/habanalabs"));
    found = detected();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message(), "the kernel module habanalabs is not loaded");
}

} // namespace
} // namespace gpucontainer::drivers::habana
