// SPDX-License-Identifier: MIT
#include "capture/devices.hpp"

#include "capture/kernel_texts.hpp"
#include "drivers/registry.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>

#include <string>

namespace gpucontainer::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CapturedKernelTest : public ::testing::Test {
protected:
    CapturedKernelTest() { function("0000:3b:00.0", "0x030200\n", "0x10de\n"); }

    void function(const std::string& address, const std::string& code, const std::string& vendor)
    {
        const std::string device = "sys/devices/pci0000:00/" + address;
        system_.file(device + "/class", code);
        system_.file(device + "/vendor", vendor);
        system_.file(device + "/uevent", "DRIVER=x\nPCI_SLOT_NAME=" + address + "\n");
        system_.file(device + "/serial_number", "0123\n");
        system_.file(device + "/unique_id", "00ab12\n");
        system_.file(device + "/power/runtime_status", "suspended\n");
        system_.file(device + "/config", std::string(64, '\1'));
        system_.file(device + "/gpu_busy_percent", "7\n");
        system_.link(device + "/subsystem", "../../../bus/pci");
        system_.directory("sys/bus/pci/devices");
        system_.link("sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + address);
    }

    std::string devices()
    {
        const Classes classes = classes_of(drivers::vendors());
        add_devices(root(), drivers::vendors(), classes, {}, report_);
        return report_.members["sys.umockdev"];
    }

    std::string root() const { return system_.at("sys").parent_path().string(); }

    test::TempRoot system_;
    Report report_{false};
};

TEST_F(CapturedKernelTest, ADeviceHasItsFactsAndNothingThatIdentifiesIt)
{
    EXPECT_EQ(devices(), "P: /devices/pci0000:00/0000:3b:00.0\n"
                         "E: SUBSYSTEM=pci\n"
                         "E: DRIVER=x\n"
                         "E: PCI_SLOT_NAME=0000:3b:00.0\n"
                         "A: class=0x030200\\n\n"
                         "A: vendor=0x10de\\n\n"
                         "A: unique_id=000001\\n\n"
                         "A: power/runtime_status=suspended\\n\n\n");
}

TEST_F(CapturedKernelTest, ASleepingDeviceIsNotWoken)
{
    EXPECT_THAT(devices(), Not(HasSubstr("config")));
    system_.file("sys/devices/pci0000:00/0000:3b:00.0/power/runtime_status", "active\n");
    EXPECT_THAT(devices(), HasSubstr("H: config=0101"));
}

TEST_F(CapturedKernelTest, OtherFunctionsOfAMakerAreThereAndOthersAreNot)
{
    function("0000:04:00.0", "0x068000\n", "0x10de\n");
    function("0000:05:00.0", "0x020000\n", "0x8086\n");

    const std::string text = devices();
    EXPECT_THAT(text, HasSubstr("/0000:04:00.0"));
    EXPECT_THAT(text, Not(HasSubstr("/0000:05:00.0")));
}

TEST_F(CapturedKernelTest, HostileTextsAreOneLineEach)
{
    system_.file("sys/devices/pci0000:00/0000:3b:00.0/uevent",
                 "DRIVER=a\x1b[31m\nNAME\nDEVNAME=b\\c\n");
    system_.file("sys/devices/pci0000:00/0000:3b:00.0/revision", "a\nP: /devices/evil\n\tb\\\n");

    const std::string text = devices();
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("A: revision=a\\nP: /devices/evil\\n\\tb\\\\\\n\n"));
}

TEST_F(CapturedKernelTest, TextsOfDriversAndModules)
{
    system_.file("proc/driver/nvidia/version", "580.95.05\n");
    system_.file("proc/driver/nvidia/gpus/0/information",
                 "UUID: GPU-bc827fa3-8239-9aa5-d1ff-cd2c2f85b066\n");
    system_.file("proc/driver/rtc", "rtc_time\n");
    system_.link("proc/driver/loop", "..");
    system_.file("proc/cmdline", "root=UUID=11111111-2222-3333-4444-555555555555 quiet nokaslr "
                                 "BOOTIF=01-aa-bb-cc-dd-ee-ff pw=\"a b\" nvidia.NVreg_X=1 "
                                 "nvidia-peermem.x=1 talos.token=c iommu=pt -- --token d\n");
    system_.file("proc/modules", "nvidia 4096 0 - Live 0xffffffffc0a00000 (OE)\n");
    system_.file("sys/module/nvidia/version", "580.95.05\n");
    system_.file("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n");
    system_.file("sys/module/nvidia_uvm/initstate", "live\n");
    system_.file("sys/module/e1000/version", "1\n");

    add_kernel_texts(root(), drivers::vendors(), report_);

    const auto& members = report_.members;
    EXPECT_EQ(members.at("proc/driver/nvidia/version"), "580.95.05\n");
    EXPECT_EQ(members.at("proc/driver/nvidia/gpus/0/information"),
              "UUID: GPU-00000001-0000-4000-8000-000000000000\n");
    EXPECT_EQ(members.at("proc/cmdline"),
              "root=... quiet nokaslr BOOTIF=... pw=... nvidia.NVreg_X=1 "
              "nvidia-peermem.x=1 talos.token=... iommu=pt\n");
    EXPECT_EQ(members.at("proc/modules"), "nvidia 4096 0 - Live 0x0000000000000000\n");
    EXPECT_EQ(members.at("sys/module/nvidia_uvm/parameters/uvm_disable_hmm"), "N\n");
    EXPECT_EQ(members.count("proc/driver/rtc"), 0U);
    EXPECT_EQ(members.count("sys/module/e1000/version"), 0U);
    EXPECT_EQ(members.count("proc/driver/loop/cmdline"), 0U);
}

} // namespace
} // namespace gpucontainer::capture
