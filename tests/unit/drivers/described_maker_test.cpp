// SPDX-License-Identifier: MIT
#include "drivers/described_maker.hpp"

#include "base/format.hpp"
#include "config/catalogue_file.hpp"
#include "drivers/described_gpus.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

namespace gpucontainer::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint16_t acme = 0x1e52;

class DescribedMakerTest : public ::testing::Test {
protected:
    DescribedMakerTest() { system_.file("sys/module/acme/version", "1.2.3\n"); }

    std::string root() const { return system_.at("sys").parent_path().string(); }

    void describe(const std::string& gpus, const std::string& nodes)
    {
        auto file = config::parse_catalogue(
            base::format("vendor: acme\nmaker:\n  title: Acme\n  kind: acme.com/gpu\n"
                         "  module: acme\n  gpus: {{{}}}\n  nodes: [{}]\n",
                         gpus, nodes));
        ASSERT_TRUE(file) << file.error().message();
        maker_ = file->maker;
    }

    void function(const std::string& address, std::uint16_t device, const std::string& driver)
    {
        devices_.devices.push_back({address, acme, device, 0x120000, driver, 1});
    }

    void device(const std::string& of_class, const std::string& name, const std::string& node,
                unsigned minor, const std::string& address, const std::string& driver = "acme")
    {
        devices_.parts[of_class].push_back({name, node, 240, minor, address, driver, address});
    }

    DescribedGpus found()
    {
        auto found = find_described_gpus(*maker_, root(), devices_);
        EXPECT_TRUE(found) << found.error().message();
        return found ? *std::move(found) : DescribedGpus();
    }

    Result<std::optional<model::DriverStack>> detected()
    {
        const auto driver_root = tree_.open_driver();
        return described_vendor(*maker_, {}).detect({devices_, driver_root, root(), "", {}, ""});
    }

    /// The nodes that would be there, which an ordinary user cannot make.
    std::vector<std::string> missing()
    {
        const auto driver = detected();
        EXPECT_TRUE(driver && *driver);
        std::vector<std::string> all;
        for (const model::DeviceNode& node : (*driver)->missing_nodes)
            all.push_back(
                base::format("{} {}:{} for {}", node.path, node.major, node.minor, node.gpu));
        return all;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator devices_;
    std::shared_ptr<const config::Maker> maker_;
};

constexpr const char* of_class = "driver: acme, class: accel, name: \"accel{number}\"";

TEST_F(DescribedMakerTest, TakesDevicesOfTheKernelDriverInTheOrderThatIsDescribed)
{
    device("accel", "accel2", "/dev/accel/accel2", 2, "0000:02:00.0");
    device("accel", "accel10", "/dev/accel/accel10", 10, "0000:01:00.0");
    device("accel", "accel3", "/dev/accel/accel3", 3, "0000:03:00.0", "intel_vpu");
    device("accel", "accel04", "/dev/accel/accel04", 4, "0000:04:00.0");
    device("accel", "accel_controlD5", "/dev/accel/accel_controlD5", 5, "0000:05:00.0");

    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");
    const DescribedGpus by_number = found();
    describe(base::format("{}, order: address", of_class), "{path: \"/dev/accel/accel{number}\"}");

    EXPECT_THAT(test::lines(by_number.gpus),
                ElementsAre("0 0000:02:00.0 Acme: accel2", "1 0000:01:00.0 Acme: accel10"));
    EXPECT_THAT(test::lines(by_number.findings),
                ElementsAre("accel3: of the kernel driver intel_vpu"));
    EXPECT_THAT(test::lines(found().gpus),
                ElementsAre("0 0000:01:00.0 Acme: accel10", "1 0000:02:00.0 Acme: accel2"));
    EXPECT_THAT(missing(),
                ElementsAre("/dev/accel/accel10 240:10 for 0", "/dev/accel/accel2 240:2 for 1"));
}

TEST_F(DescribedMakerTest, HasModelsAndAttributes)
{
    describe(base::format("{}, order: number, pci-vendor: \"0x1e52\", uuid: id, model: card, "
                          "models: [{{device: \"0x0001\", name: Acme One}}]",
                          of_class),
             "{path: \"/dev/accel/accel{number}\"}");
    function("0000:01:00.0", 1, "acme");
    function("0000:02:00.0", 2, "acme");
    function("0000:03:00.0", 1, "vfio-pci");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    device("accel", "accel1", "/dev/accel/accel1", 1, "0000:02:00.0");
    system_.file("sys/class/accel/accel0/id", "01AB\n");
    system_.file("sys/class/accel/accel0/card", "x100\n");

    const DescribedGpus all = found();

    ASSERT_THAT(all.gpus, SizeIs(1));
    EXPECT_EQ(all.gpus[0].model, "Acme One x100");
    EXPECT_EQ(all.gpus[0].uuid, "01AB");
    EXPECT_EQ(all.gpus[0].numa_node, 1);
    EXPECT_THAT(test::lines(all.findings),
                ElementsAre("accel1: of no PCI function that is described"));
    EXPECT_EQ(all.undriven, "0000:03:00.0 is bound to vfio-pci");
}

TEST_F(DescribedMakerTest, LeavesOutAttributesThatCannotBeShown)
{
    describe(base::format("{}, order: number, uuid: id, model: card", of_class),
             "{path: \"/dev/accel/accel{number}\"}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    system_.file("sys/class/accel/accel0/id", "a b\n");
    system_.file("sys/class/accel/accel0/card", "x\u202e\n");

    EXPECT_EQ(found().gpus[0].uuid, "");
    EXPECT_EQ(found().gpus[0].model, "Acme");
}

TEST_F(DescribedMakerTest, LeavesOutAGpuWhoseAttributesCannotBeRead)
{
    describe(base::format("{}, order: number, uuid: id", of_class),
             "{path: \"/dev/accel/accel{number}\"}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    device("accel", "accel1", "/dev/accel/accel1", 1, "0000:02:00.0");
    system_.link("sys/class/accel/accel0/id", "/proc/self/mem"); // EIO at its beginning

    EXPECT_THAT(test::lines(found().gpus), ElementsAre("0 0000:02:00.0 Acme: accel1"));
    EXPECT_THAT(test::lines(found().findings), ElementsAre(HasSubstr("Input/output error")));

    devices_.parts["accel"].pop_back();
    EXPECT_THAT(detected().error().hint(), HasSubstr("Input/output error")) << "all are left out";
}

TEST_F(DescribedMakerTest, NumbersFunctionsByTheirAddresses)
{
    describe("driver: acme, pci-vendor: \"0x1e52\", pci-class: \"0x1200\"",
             "{path: \"/dev/acme*\", class: acme}, "
             "{path: /dev/acme_ctl, major: acme, minor: 255}, "
             "{path: \"/dev/dri/renderD*\", class: drm}");
    function("0000:01:00.0", 1, "acme");
    function("0000:02:00.0", 1, "vfio-pci");
    function("0000:03:00.0", 7, "acme");
    devices_.devices.push_back({"0000:04:00.0", acme, 1, 0x020000, "acme", 0});
    device("acme", "acme4", "/dev/acme4", 4, "0000:01:00.0");
    device("acme", "acme2", "/dev/acme2", 2, "0000:03:00.0");
    device("drm", "renderD128", "/dev/dri/renderD128", 128, "0000:03:00.0");
    device("drm", "card0", "/dev/dri/card0", 0, "0000:03:00.0");
    device("drm", "renderD129", "/dev/dri/renderD129", 129, "0000:09:00.0");
    system_.file("proc/devices", "Character devices:\n250 acme\n");

    EXPECT_THAT(test::lines(found().gpus),
                ElementsAre("0 0000:01:00.0 Acme: ", "1 0000:03:00.0 Acme: "));
    EXPECT_THAT(missing(),
                ElementsAre("/dev/acme4 240:4 for 0", "/dev/acme2 240:2 for 1",
                            "/dev/acme_ctl 250:255 for -1", "/dev/dri/renderD* 0:0 for 0",
                            "/dev/dri/renderD128 240:128 for 1"));
}

TEST_F(DescribedMakerTest, GivesNoGpuTheNodeOfAnother)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/x{number}\", class: x}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    device("x", "x0", "/dev/x0", 0, "0000:02:00.0");

    const auto driver = detected();

    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().message(),
              "/dev/x0 belongs to the PCI function '0000:02:00.0', but GPU 0 is '0000:01:00.0'");
}

TEST_F(DescribedMakerTest, LeavesOutNodesOfOthers)
{
    describe(base::format("{}, order: number", of_class),
             "{path: \"/dev/accel/accel{number}\"}, {path: /dev/net/tun, class: misc}, "
             "{path: /dev/acme_ctl, class: misc}, {path: /dev/kvm, major: misc, minor: 232}, "
             "{path: /dev/tpm0, major: tpm, minor: 0}, "
             "{path: \"/dev/acme{number}\", major: acme}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    devices_.parts["misc"] = {{"tun", "/dev/net/tun", 10, 200, "", "", ""},
                              {"acme_ctl", "/dev/acme_ctl", 10, 60, "", "", ""}};
    devices_.parts["tpm"] = {{"tpm0", "/dev/tpm0", 250, 0, "MSFT0101:00", "tpm_crb", ""}};
    system_.file("proc/devices", "Character devices:\n 10 misc\n250 tpm\n251 acme\n");

    const auto driver = detected();

    ASSERT_TRUE(driver && *driver);
    const std::string shared = "many drivers have nodes with major number 10, and nothing shows "
                               "that this one belongs to acme";
    EXPECT_THAT(test::lines((*driver)->findings),
                ElementsAre(HasSubstr("accel0: no device node"), "tun: " + shared,
                            HasSubstr("acme_ctl: no device node"), "kvm: " + shared,
                            "tpm0: of the kernel driver tpm_crb",
                            HasSubstr("acme0: no device node")));
    EXPECT_THAT((*driver)->missing_nodes, SizeIs(6)) << "they are needed";
}

TEST_F(DescribedMakerTest, GivesNoGpuTheNumberOfAnother)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/x{number}\", major: x}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    devices_.parts["x"] = {{"x0", "/dev/x0", 241, 0, "0000:02:00.0", "acme", "0000:02:00.0"}};
    system_.file("proc/devices", "Character devices:\n241 x\n");

    EXPECT_THAT(detected().error().message(), HasSubstr("/dev/x0 belongs to the PCI function"));
}

TEST_F(DescribedMakerTest, IsNotThereWithoutDeviceAndModule)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");

    EXPECT_EQ(detected().error().message(), "the kernel module acme is loaded but drives no GPU");
    std::filesystem::remove_all(system_.at("sys/module/acme"));
    const auto driver = detected();
    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_FALSE(*driver);
}

TEST_F(DescribedMakerTest, MayBeBuiltIntoTheKernel)
{
    describe("driver: acme, pci-vendor: \"0x1e52\", pci-class: \"0x1200\"",
             "{path: \"/dev/acme*\", class: acme}");
    std::filesystem::remove_all(system_.at("sys/module/acme"));
    system_.directory("sys/bus/pci/drivers/acme");
    system_.file("proc/sys/kernel/osrelease", "6.12.1-amd64\n");

    const auto none = detected();
    function("0000:01:00.0", 1, "acme");
    const auto driver = detected();

    ASSERT_TRUE(none) << none.error().message();
    EXPECT_FALSE(*none) << "nothing says that there should be one";
    ASSERT_TRUE(driver && *driver);
    EXPECT_EQ((*driver)->version, "6.12.1-amd64");
}

TEST_F(DescribedMakerTest, SaysThatItsModuleIsAnother)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    system_.link("sys/bus/pci/drivers/acme/module", "../../../../module/acme");
    const auto right = detected();
    std::filesystem::remove(system_.at("sys/bus/pci/drivers/acme/module"));
    system_.link("sys/bus/pci/drivers/acme/module", "../../../../module/acme_npu");

    EXPECT_TRUE(right);
    EXPECT_EQ(detected().error().message(),
              "the kernel driver acme belongs to the module acme_npu, not to acme");
}

TEST_F(DescribedMakerTest, SaysThatNoModuleIsLoaded)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");
    device("accel", "accel0", "/dev/accel/accel0", 0, "0000:01:00.0");
    std::filesystem::remove_all(system_.at("sys/module/acme"));

    EXPECT_EQ(detected().error().message(), "acme drives GPUs, but the module acme is not loaded");
}

TEST_F(DescribedMakerTest, SaysWhatItsFunctionsAreBoundTo)
{
    describe("driver: acme, pci-vendor: \"0x1e52\", pci-class: \"0x1200\"",
             "{path: \"/dev/acme*\", class: acme}");
    function("0000:01:00.0", 1, "vfio-pci");
    function("0000:02:00.0", 1, "");
    std::filesystem::remove_all(system_.at("sys/module/acme"));

    const auto driver = detected();

    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().code(), Errc::no_device);
    EXPECT_EQ(driver.error().hint(),
              "0000:01:00.0 is bound to vfio-pci, 0000:02:00.0 has no kernel driver");
}

TEST_F(DescribedMakerTest, IsBounded)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");
    for (unsigned n = 0; n < 257; ++n)
        device("accel", base::format("accel{}", n), base::format("/dev/accel/accel{}", n), n, "");

    EXPECT_EQ(find_described_gpus(*maker_, root(), devices_).error().message(),
              "more than 256 GPUs");
}

TEST_F(DescribedMakerTest, HasPlacesThatTellAChange)
{
    describe(base::format("{}, order: number", of_class), "{path: \"/dev/accel/accel{number}\"}");
    const auto of_devices = kernel_places_of(*maker_);
    describe("driver: acme, pci-vendor: \"0x1e52\", pci-class: \"0x1200\"",
             "{path: \"/dev/acme*\", class: acme}");
    const auto of_functions = kernel_places_of(*maker_);

    EXPECT_EQ(of_devices[0].path, "/sys/class/accel");
    EXPECT_EQ(of_devices[0].how, KernelPlace::How::names);
    EXPECT_EQ(of_devices[1].path, "/sys/module/acme");
    EXPECT_EQ(of_devices[1].how, KernelPlace::How::inode);
    EXPECT_EQ(of_functions[0].path, "/sys/bus/pci/drivers/acme");
    EXPECT_EQ(of_functions[2].path, "/sys/class/acme") << "another class, for nodes";
    describe(base::format("{}, order: number", of_class),
             "{path: \"/dev/accel/accel{number}\"}, {path: \"/dev/a*\", class: drm}, "
             "{path: \"/dev/b*\", class: drm}, {path: /dev/c, major: c, minor: 0}");
    std::vector<std::string> paths;
    for (const DescribedPlace& place : kernel_places_of(*maker_))
        paths.push_back(place.path);
    EXPECT_THAT(paths, ElementsAre("/sys/class/accel", "/sys/module/acme", "/sys/class/drm",
                                   "/proc/devices"));
}

TEST_F(DescribedMakerTest, HasLibrariesOfDirectoriesThatNobodyElseCanWrite)
{
    tree_.library("opt/acme/lib/libacme.so.1", "libacme.so.1");
    tree_.link("opt/link", "/opt/acme/lib");
    const auto file = config::parse_catalogue(
        "vendor: acme\nmaker:\n  title: Acme\n  kind: acme.com/gpu\n  module: acme\n"
        "  gpus: {driver: acme, class: accel, name: \"accel{number}\", order: number}\n"
        "  nodes: [{path: \"/dev/accel/accel{number}\"}]\n  directories: [/opt/link, /opt/none]\n"
        "files:\n  - {library: libacme.so.1, capability: compute, reason: a test}\n");
    ASSERT_TRUE(file) << file.error().message();
    const auto detected = [&] {
        const auto root = tree_.open_driver();
        search::SiteCatalogue site;
        site.rules = file->rules;
        return described_vendor(*file->maker, {})
            .files_alone({devices_, root, this->root(), "", std::move(site), ""});
    };

    const auto found = detected();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->files.front().path, tree_.prefix() + "/opt/acme/lib/libacme.so.1");

    std::filesystem::permissions(tree_.at("opt/acme"), std::filesystem::perms::all);
    EXPECT_EQ(detected().error().code(), Errc::no_device) << "anybody may put another there";
    std::filesystem::permissions(tree_.at("opt/acme"), std::filesystem::perms::owner_all);
    std::filesystem::permissions(tree_.at("opt/acme/lib"),
                                 std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
    EXPECT_EQ(detected().error().code(), Errc::no_device) << "the same, though it is sticky";
}

TEST(NumberIn, IsThatOfThePatternAlone)
{
    EXPECT_EQ(number_in("a{number}", "{number}", "a12"), 12U);
    EXPECT_EQ(number_in("a{number}", "{number}", "a0"), 0U);
    EXPECT_EQ(number_in("/dev/a*/b", "*", "/dev/a7/b"), 7U);
    for (const char* const text : {"a", "b1", "a01", "a1b", "a-1", "a+1", "a 1", "a1234567"})
        EXPECT_EQ(number_in("a{number}", "{number}", text), std::nullopt) << text;
    EXPECT_EQ(number_in("a", "{number}", "a1"), std::nullopt);
}

} // namespace
} // namespace gpucontainer::drivers
