// SPDX-License-Identifier: MIT
#include "base/c_handle.hpp"
#include "host/enumerator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <umockdev.h>

namespace gpucontainer::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint16_t nvidia = 0x10de;
constexpr std::uint16_t amd = 0x1002;

using Testbed = base::CHandle<UMockdevTestbed, g_object_unref>;
using GlibError = base::CHandle<GError, g_error_free>;

std::string text(const PciDevice& device)
{
    return fmt::format("{} {:04x}:{:04x} {:06x} {} {}", device.address, device.vendor_id,
                       device.device_id, device.class_code,
                       device.driver.empty() ? "-" : device.driver, device.numa_node);
}

std::vector<std::string> texts(const std::vector<PciDevice>& devices)
{
    std::vector<std::string> all;
    for (const PciDevice& device : devices)
        all.push_back(text(device));
    return all;
}

/// Runs below umockdev's preloaded library, which shows libudev another /sys.
class UdevEnumeratorTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const char* preloaded = std::getenv("LD_PRELOAD");
        if (preloaded == nullptr
            || std::string_view(preloaded).find("umockdev") == std::string::npos)
            GTEST_SKIP() << "runs below umockdev-wrapper only";
        testbed_.reset(umockdev_testbed_new());
    }

    void add(const std::string& description)
    {
        GError* problem = nullptr;
        const bool added =
            umockdev_testbed_add_from_string(testbed_.get(), description.c_str(), &problem) != 0;
        const GlibError owned(problem);
        ASSERT_TRUE(added) << (problem != nullptr ? problem->message : "");
    }

    void add_function(const std::string& address, const std::string& attributes,
                      const std::string& driver = "")
    {
        add(fmt::format(
            "P: /devices/pci0000:00/{0}\nE: SUBSYSTEM=pci\nE: PCI_SLOT_NAME={0}\n{1}{2}", address,
            driver.empty() ? "" : "L: driver=../../../bus/pci/drivers/" + driver + "\n",
            attributes));
    }

    Result<std::vector<PciDevice>> find(std::uint16_t vendor)
    {
        return make_udev_enumerator()->pci_functions(vendor);
    }

    Testbed testbed_;
};

TEST_F(UdevEnumeratorTest, FindsTheGpusOfARecordedHost)
{
    GError* problem = nullptr;
    ASSERT_TRUE(umockdev_testbed_add_from_file(
        testbed_.get(), GPUCTR_TEST_SOURCE_DIR "/hosts/h200-x8-ubuntu24.04-580/sys.umockdev",
        &problem))
        << problem->message;

    const auto found = find(nvidia);

    ASSERT_TRUE(found) << found.error().message();
    ASSERT_THAT(*found, ::testing::SizeIs(8));
    EXPECT_EQ(text(found->front()), "0000:00:06.0 10de:2335 030200 nvidia -1");
    EXPECT_EQ(found->back().address, "0000:00:0d.0");
}

TEST_F(UdevEnumeratorTest, FindsFunctionsOfOneVendorInOrder)
{
    add_function(
        "0000:86:00.0",
        "A: vendor=0x10de\\n\nA: device=0x2330\\n\nA: class=0x030200\\n\nA: numa_node=1\\n\n",
        "vfio-pci");
    add_function("0000:3b:00.0",
                 "A: vendor=0x10de\\n\nA: device=0x1b06\\n\nA: class=0x030000\\n\n");
    add_function("0000:3b:00.1", "A: vendor=0x10de\\n\nA: device=0x10ef\\n\nA: class=0x040300\\n\n",
                 "snd_hda_intel");
    add_function("0000:c1:00.0", "A: vendor=0x1002\\n\nA: device=0x74a1\\n\nA: class=0x038000\\n\n",
                 "amdgpu");

    EXPECT_THAT(texts(*find(nvidia)), ElementsAre("0000:3b:00.0 10de:1b06 030000 - -1",
                                                  "0000:3b:00.1 10de:10ef 040300 snd_hda_intel -1",
                                                  "0000:86:00.0 10de:2330 030200 vfio-pci 1"));
    EXPECT_THAT(texts(*find(amd)), ElementsAre("0000:c1:00.0 1002:74a1 038000 amdgpu -1"));
}

TEST_F(UdevEnumeratorTest, FindsNodesOfAClassWithWhatTheyArePartOf)
{
    add_function("0000:03:00.0", "", "amdgpu");
    add("P: /devices/pci0000:00/0000:03:00.0/drm/renderD129\nN: dri/renderD129\n"
        "E: SUBSYSTEM=drm\nE: DEVNAME=/dev/dri/renderD129\nE: MAJOR=226\nE: MINOR=129\n"
        "A: dev=226:129\n");
    add("P: /devices/pci0000:00/0000:03:00.0/drm/card1\nN: dri/card1\nE: SUBSYSTEM=drm\n"
        "E: DEVNAME=/dev/dri/card1\nE: MAJOR=226\nE: MINOR=1\nA: dev=226:1\n");
    add("P: /devices/pci0000:00/0000:03:00.0/drm/card1/card1-DP-1\nE: SUBSYSTEM=drm\n");
    add("P: /devices/platform/amdgpu_xcp_0\nE: SUBSYSTEM=platform\n");
    add("P: /devices/platform/amdgpu_xcp_0/drm/card10\nN: dri/card10\nE: SUBSYSTEM=drm\n"
        "E: DEVNAME=/dev/dri/card10\nE: MAJOR=226\nE: MINOR=10\nA: dev=226:10\n");

    const auto found = make_udev_enumerator()->class_devices("drm");

    ASSERT_TRUE(found) << found.error().message();
    std::vector<std::string> all;
    for (const ClassDevice& part : *found)
        all.push_back(fmt::format("{} {} {}:{} of {} driver {} pci {}", part.name, part.node,
                                  part.major, part.minor, part.parent,
                                  part.driver.empty() ? "-" : part.driver,
                                  part.pci_address.empty() ? "-" : part.pci_address));
    EXPECT_THAT(
        all,
        ElementsAre("card1 /dev/dri/card1 226:1 of 0000:03:00.0 driver amdgpu pci 0000:03:00.0",
                    "card10 /dev/dri/card10 226:10 of amdgpu_xcp_0 driver - pci -",
                    "renderD129 /dev/dri/renderD129 226:129 of 0000:03:00.0 driver amdgpu pci "
                    "0000:03:00.0"));
    EXPECT_THAT(*make_udev_enumerator()->class_devices("accel"), IsEmpty());
}

TEST_F(UdevEnumeratorTest, TakesNoGarbageForAVendorOrAClass)
{
    add_function("0000:01:00.0", "A: vendor=10de\\n\nA: class=0x030000\\n\n");
    add_function("0000:02:00.0", "A: vendor=0x10de\\n\n");
    add_function("0000:03:00.0", "A: vendor=0x10de\\n\nA: class=0x\\n\n");
    add_function("0000:04:00.0", "A: vendor=0x10deg\\n\nA: class=0x030000\\n\n");
    add_function("0000:05:00.0", "");

    for (const PciDevice& device : *find(nvidia))
        EXPECT_FALSE(is_display_controller(device)) << device.address;
    EXPECT_EQ(find(nvidia)->size(), 2U);
}

TEST_F(UdevEnumeratorTest, FindsNothingOnAHostWithoutPci) { EXPECT_THAT(*find(nvidia), IsEmpty()); }

} // namespace
} // namespace gpucontainer::host
