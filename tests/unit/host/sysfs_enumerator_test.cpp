// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "host/enumerator.hpp"
#include "support/temp_root.hpp"

#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint16_t nvidia = 0x10de;
constexpr std::uint16_t amd = 0x1002;

std::string text(const PciDevice& device)
{
    return base::format("{} {:04x}:{:04x} {:06x} {} {}", device.address, device.vendor_id,
                        device.device_id, device.class_code,
                        device.driver.empty() ? "-" : device.driver, device.numa_node);
}

std::string text(const ClassDevice& part)
{
    return base::format("{} {} {}:{} of {} driver {} pci {}", part.name, part.node, part.major,
                        part.minor, part.parent, part.driver.empty() ? "-" : part.driver,
                        part.pci_address.empty() ? "-" : part.pci_address);
}

template <typename Device>
std::vector<std::string> texts(const Result<std::vector<Device>>& devices)
{
    std::vector<std::string> all;
    if (!devices)
        return {devices.error().message()};
    for (const Device& device : *devices)
        all.push_back(text(device));
    return all;
}

/// A tree as that of sysfs.
class SysfsEnumeratorTest : public ::testing::Test {
protected:
    using Attributes = std::vector<std::pair<std::string, std::string>>;

    /// `path` is below devices/; a driver is one of its subsystem.
    void add(const std::string& path, const std::string& subsystem, const Attributes& attributes,
             const std::string& driver = "")
    {
        const std::string device = "devices/" + path;
        const std::string name = path.substr(path.rfind('/') + 1);
        sys_.directory(device);
        for (const auto& [key, value] : attributes)
            sys_.file(base::format("{}/{}", device, key), value + "\n");
        const bool bus = subsystem == "pci" || subsystem == "platform";
        sys_.link(device + "/subsystem", (bus ? "/sys/bus/" : "/sys/class/") + subsystem);
        if (!driver.empty())
            sys_.link(device + "/driver",
                      base::format("../../../bus/{}/drivers/{}", subsystem, driver));
        const std::string list =
            bus ? base::format("bus/{}/devices", subsystem) : "class/" + subsystem;
        sys_.link(list + "/" + name, sys_.at(device).string());
    }

    void add_function(const std::string& address, const Attributes& attributes,
                      const std::string& driver = "")
    {
        add("pci0000:00/" + address, "pci", attributes, driver);
    }

    void add_node(const std::string& path, const std::string& name, const std::string& number)
    {
        const auto colon = number.find(':');
        add(path, "drm",
            {{"uevent", base::format("MAJOR={}\nMINOR={}\nDEVNAME={}\nDEVTYPE=drm_minor",
                                     number.substr(0, colon), number.substr(colon + 1), name)}});
    }

    std::vector<std::string> functions(std::uint16_t vendor)
    {
        return texts(enumerator()->pci_functions(vendor));
    }
    std::vector<std::string> nodes() { return texts(enumerator()->class_devices("drm")); }

    std::unique_ptr<Enumerator> enumerator() { return make_enumerator(sys_.at("").string()); }

    test::TempRoot sys_;
};

TEST_F(SysfsEnumeratorTest, FindsFunctionsOfOneVendorInOrder)
{
    add_function(
        "0000:86:00.0",
        {{"vendor", "0x10de"}, {"device", "0x2330"}, {"class", "0x030200"}, {"numa_node", "1"}},
        "vfio-pci");
    add_function("0000:3b:00.0",
                 {{"vendor", "0x10de"}, {"device", "0x1b06"}, {"class", "0x030000"}});
    add_function("0000:3b:00.1",
                 {{"vendor", "0x10de"}, {"device", "0x10ef"}, {"class", "0x040300"}},
                 "snd_hda_intel");
    add_function("0000:c1:00.0",
                 {{"vendor", "0x1002"}, {"device", "0x74a1"}, {"class", "0x038000"}}, "amdgpu");

    EXPECT_THAT(functions(nvidia), ElementsAre("0000:3b:00.0 10de:1b06 030000 - -1",
                                               "0000:3b:00.1 10de:10ef 040300 snd_hda_intel -1",
                                               "0000:86:00.0 10de:2330 030200 vfio-pci 1"));
    EXPECT_THAT(functions(amd), ElementsAre("0000:c1:00.0 1002:74a1 038000 amdgpu -1"));
    EXPECT_EQ(enumerator()->numa_node("0000:86:00.0"), 1);
    EXPECT_EQ(enumerator()->numa_node("0000:3b:00.0"), -1);
    EXPECT_EQ(enumerator()->device_id("0000:86:00.0"), 0x2330);
    EXPECT_EQ(enumerator()->device_id("0000:87:00.0"), 0);
}

TEST_F(SysfsEnumeratorTest, FindsWhatADriverHas)
{
    add("pci0000:00/0000:86:00.0", "pci",
        {{"vendor", "0x10de"}, {"device", "0x2335"}, {"class", "0x030200"}}, "vfio-pci");
    add("pci0000:00/0000:03:00.0", "pci", {{"vendor", "0x1002"}}, "vfio-pci");
    add("pci0000:00/0000:3b:00.0", "pci", {{"vendor", "0x10de"}}, "nvidia");
    for (const char* address : {"0000:86:00.0", "0000:03:00.0"})
        sys_.directory(base::format("bus/pci/drivers/vfio-pci/{}", address));
    sys_.file("bus/pci/drivers/vfio-pci/new_id", "");

    const auto pci = enumerator();
    EXPECT_THAT(texts(pci->functions_of_driver("vfio-pci", nvidia)),
                ElementsAre("0000:86:00.0 10de:2335 030200 vfio-pci -1"));
    EXPECT_THAT(texts(pci->functions_of_driver("nouveau", nvidia)), IsEmpty());
}

TEST_F(SysfsEnumeratorTest, FindsNodesOfAClassWithWhatTheyArePartOf)
{
    const std::string function = "pci0000:00/0000:03:00.0";
    add_function("0000:03:00.0", {}, "amdgpu");
    add_node(function + "/drm/renderD129", "dri/renderD129", "226:129");
    add_node(function + "/drm/card1", "/dev/dri/card1", "226:1");
    add(function + "/drm/card1/card1-DP-1", "drm", {{"uevent", ""}});
    add("platform/amdgpu_xcp_0", "platform", {});
    add_node("platform/amdgpu_xcp_0/drm/card10", "dri/card10", "226:10");
    sys_.file("class/drm/version", "drm 1.1.0 20060810\n");

    EXPECT_THAT(
        nodes(),
        ElementsAre("card1 /dev/dri/card1 226:1 of 0000:03:00.0 driver amdgpu pci 0000:03:00.0",
                    "card10 /dev/dri/card10 226:10 of amdgpu_xcp_0 driver - pci -",
                    "renderD129 /dev/dri/renderD129 226:129 of 0000:03:00.0 driver amdgpu pci "
                    "0000:03:00.0"));
    EXPECT_THAT(texts(enumerator()->class_devices("accel")), IsEmpty());
}

TEST_F(SysfsEnumeratorTest, FindsTheDeviceOfANumber)
{
    add_function("0000:03:00.0", {}, "acme");
    add_node("pci0000:00/0000:03:00.0/misc/acme_ctl", "acme_ctl", "10:60");
    add_node("virtual/misc/tun", "net/tun", "10:200");
    sys_.link("dev/char/10:60", sys_.at("devices/pci0000:00/0000:03:00.0/misc/acme_ctl").string());
    sys_.link("dev/char/10:200", sys_.at("devices/virtual/misc/tun").string());

    const auto of_function = enumerator()->character_device(10, 60);
    const auto of_nobody = enumerator()->character_device(10, 200);
    const auto none = enumerator()->character_device(10, 6);

    ASSERT_TRUE(of_function && *of_function && of_nobody && *of_nobody && none);
    EXPECT_EQ(text(**of_function),
              "acme_ctl /dev/acme_ctl 10:60 of 0000:03:00.0 driver acme pci 0000:03:00.0");
    EXPECT_EQ(text(**of_nobody), "tun /dev/net/tun 10:200 of  driver - pci -");
    EXPECT_FALSE(*none);
}

TEST_F(SysfsEnumeratorTest, TakesNoNodeThatDoesNotLieBelowDev)
{
    int number = 0;
    for (const char* const name :
         {"", "/", "/dev", "/dev/", "/etc/passwd", "..", "../etc/passwd", "dri/../../etc", ".",
          "dri/.", "dri//card0", "dri/", "/dev/../etc", "/devices/x", "dri/c\x1b[0m", "/dev//x"})
        add_node(base::format("x/card{}", number++), name, "226:0");
    for (const char* const wrong : {":", "226:", ":0", "-1:0", "226:4294967296", "x:0", "226:0x1"})
        add_node(base::format("x/card{}", number++), "dri/card0", wrong);
    add("x/alone", "drm", {{"uevent", "DEVNAME=dri/card0"}});
    add("x/odd", "drm", {{"uevent", "\n=\nMAJOR\nDEVNAME\n=DEVNAME=x\nMINOR="}});

    EXPECT_THAT(nodes(), IsEmpty());
    add_node("x/y", "dri/by-path/card0", "226:0");
    EXPECT_THAT(nodes(), ElementsAre("y /dev/dri/by-path/card0 226:0 of  driver - pci -"));
}

TEST_F(SysfsEnumeratorTest, TakesNoGarbageForAVendorOrAClass)
{
    add_function("0000:01:00.0", {{"vendor", "10de"}, {"class", "0x030000"}});
    add_function("0000:02:00.0", {{"vendor", "0x10de"}});
    add_function("0000:03:00.0", {{"vendor", "0x10de"}, {"class", "0x"}});
    add_function("0000:04:00.0", {{"vendor", "0x10deg"}, {"class", "0x030000"}});
    add_function("0000:05:00.0", {});
    add_function("0000:06:00.0", {{"vendor", "0x10de"}, {"numa_node", "99999999999"}});

    const auto found = enumerator()->pci_functions(nvidia);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size(), 3U);
    for (const PciDevice& device : *found)
        EXPECT_FALSE(is_display_controller(device)) << device.address;
    EXPECT_EQ(found->back().numa_node, -1);
}

TEST_F(SysfsEnumeratorTest, FindsNothingOnAHostWithoutPci)
{
    EXPECT_THAT(functions(nvidia), IsEmpty());
    EXPECT_THAT(nodes(), IsEmpty());
}

TEST_F(SysfsEnumeratorTest, DoesNotTakeWhatCannotBeReadForNothing)
{
    sys_.link("class/drm", "drm");
    const auto found = enumerator()->class_devices("drm");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().os_error(), ELOOP);
}

} // namespace
} // namespace gpucontainer::host
