// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra.hpp"

#include "unit/drivers/tegra_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {

using model::DriverStack;

namespace {

using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// For those who may make nodes.
class TegraTest : public TegraFixture {
protected:
    void SetUp() override
    {
        if (!make_node("probe", gpu_major, 99) && std::getenv("CI") == nullptr)
            GTEST_SKIP() << "device nodes need a privilege";
    }
};

TEST_F(TegraTest, IsNotThereByItsFilesAlone)
{
    install();
    node("nvhost-gpu", 0);
    tree_.file("etc/nv_tegra_release", "# R35 (release), REVISION: 4.1,");
    system_.file("sys/devices/soc0/family", "i.MX\n");
    system_.file("proc/device-tree/compatible", "vendor,board\0fsl,imx8\0"s);

    const auto driver = find();

    ASSERT_TRUE(driver) << driver.error().message();
    EXPECT_FALSE(*driver);
}

TEST_F(TegraTest, IsWhatTheDeviceTreeSays)
{
    install();
    node("nvhost-gpu", 0);
    system_.file("proc/device-tree/compatible", "nvidia,p3701\0nvidia,tegra234\0"s);

    EXPECT_EQ(found().gpus.at(0).model, "nvidia,tegra234");
    EXPECT_EQ(found().gpus.at(0).architecture, "8.7");

    system_.file("proc/device-tree/model", "Jetson AGX Orin\0"s);
    EXPECT_EQ(found().gpus.at(0).model, "Jetson AGX Orin");
}

TEST_F(TegraTest, HasOneGpuWithoutAnAddress)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);
    system_.file("sys/devices/soc0/machine", "Jetson Xavier\n");

    const DriverStack driver = found();

    ASSERT_THAT(driver.gpus, SizeIs(1));
    EXPECT_EQ(driver.gpus[0].index, 0U);
    EXPECT_EQ(driver.gpus[0].pci_address, "");
    EXPECT_EQ(driver.gpus[0].uuid, "");
    EXPECT_EQ(driver.gpus[0].minor, -1);
    EXPECT_EQ(driver.gpus[0].model, "Jetson Xavier");
    EXPECT_EQ(driver.vendor, "nvidia");
    EXPECT_THAT(test::warnings(driver.findings), IsEmpty());
    EXPECT_EQ(driver.library_directory, tree_.prefix() + "/" + libraries);
}

TEST_F(TegraTest, IsThereBesideAModuleThatDrivesItsDisplay)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);
    system_.file("sys/module/nvidia/version", "540.4.0\n");

    EXPECT_EQ(found().version, "5.10.104-tegra");
}

TEST_F(TegraTest, LeavesDiscreteGpusToTheirDriver)
{
    be_a_tegra();
    node("nvhost-gpu", 0);
    system_.file("sys/module/nvidia/version", "580.1\n");
    system_.file("proc/driver/nvidia/gpus/0000:06:00.0/information", "GPU UUID: GPU-1\n");
    pci_.add("0000:06:00.0", "nvidia");
    tree_.library("usr/lib64/libcuda.so.580.1", "libcuda.so.1");
    tree_.link("usr/lib64/libcuda.so.1", "libcuda.so.580.1");

    EXPECT_EQ(found().gpus.at(0).pci_address, "0000:06:00.0");
    EXPECT_EQ(loaded(), "580.1");
}

/// JetPack 7 on Thor: lists of its packages still name igpu0.
TEST_F(TegraTest, HasItsNodesInADirectoryOfItsAddress)
{
    be_a_tegra();
    install();
    list("devices.csv", "dev, /dev/nvgpu/igpu0/*\ndev, /dev/nvmap\n");
    node("nvgpu/igpu-0000:01:00.0/ctrl", 1);
    node("nvgpu/igpu-0000:01:00.0/as", 2);
    node("nvmap", 3);

    const DriverStack driver = found();

    ASSERT_THAT(driver.gpus, SizeIs(1));
    EXPECT_EQ(driver.gpus[0].pci_address, "0000:01:00.0");
    EXPECT_THAT(paths(driver.nodes),
                UnorderedElementsAre("/dev/nvgpu/igpu-0000:01:00.0/ctrl 0",
                                     "/dev/nvgpu/igpu-0000:01:00.0/as 0", "/dev/nvmap 0"));
}

TEST_F(TegraTest, IsKnownByItsFilesAlthoughTheModuleListsItsGpu)
{
    be_a_tegra();
    install();
    node("nvgpu/igpu-0000:01:00.0/ctrl", 1);
    node("nvmap", 3);
    ASSERT_TRUE(make_node("nvidia0", 195, 0));
    ASSERT_TRUE(make_node("nvidiactl", 195, 255));
    system_.file("proc/devices", "Character devices:\n195 nvidia\n");
    system_.file("sys/module/nvidia/version", "580.00\n");
    system_.file("proc/driver/nvidia/gpus/0000:01:00.0/information",
                 "Model: NVIDIA Thor\nDevice Minor: 0\n");

    const DriverStack driver = found();

    EXPECT_EQ(driver.version, "580.00");
    EXPECT_EQ(loaded(), "580.00");
    ASSERT_THAT(driver.gpus, SizeIs(1));
    EXPECT_EQ(driver.gpus[0].model, "NVIDIA Thor");
    EXPECT_TRUE(driver.missing_nodes.empty());
    EXPECT_THAT(paths(driver.nodes),
                UnorderedElementsAre("/dev/nvidia0 0", "/dev/nvidiactl -1", "/dev/nvmap 0",
                                     "/dev/nvgpu/igpu-0000:01:00.0/ctrl 0"));
}

TEST_F(TegraTest, IsTheSecondGpuBesideACardWithTheSameUserSpace)
{
    be_a_tegra();
    install();
    node("nvgpu/igpu-0000:01:00.0/ctrl", 1);
    node("nvmap", 3);
    system_.file("sys/module/nvidia/version", "580.00\n");
    system_.file("proc/driver/nvidia/gpus/0005:01:00.0/information", "Device Minor: 1\n");

    const DriverStack driver = found();

    ASSERT_THAT(driver.gpus, SizeIs(2));
    EXPECT_EQ(driver.gpus[0].pci_address, "0005:01:00.0");
    EXPECT_EQ(driver.gpus[1].pci_address, "0000:01:00.0");
    EXPECT_THAT(paths(driver.nodes),
                UnorderedElementsAre("/dev/nvmap 1", "/dev/nvgpu/igpu-0000:01:00.0/ctrl 1"));
}

TEST_F(TegraTest, HasTheVersionOfItsRelease)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);
    for (const auto& [text, version] : std::vector<std::pair<std::string, std::string>>{
             {"# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref\n", "35.4.1"},
             {"# R32 (release), REVISION: 7.5.1, GCID: 1", "32.7.5.1"},
             {"# R36 (release), REVISION: 3", "36.3"},
             {"", "5.10.104-tegra"},
             {"# R (release), REVISION: 4.1,", "5.10.104-tegra"},
             {"# R35 (release), REVISION: ,", "5.10.104-tegra"},
             {"# R35 (release), REVISION: x\x1b,", "5.10.104-tegra"},
             {"R35, REVISION: 4.1,", "5.10.104-tegra"}}) {
        tree_.file("etc/nv_tegra_release", text);
        system_.file("etc/nv_tegra_release", text);

        const DriverStack driver = found();

        EXPECT_EQ(driver.version, version) << text;
        EXPECT_EQ(driver.version_source, model::VersionSource::module);
        EXPECT_EQ(loaded(), version) << text;
    }
}

TEST_F(TegraTest, HasTheVersionThatIsGiven)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);

    const auto driver = find("36.1");

    ASSERT_TRUE(driver && *driver);
    EXPECT_EQ((*driver)->version, "36.1");
    EXPECT_EQ((*driver)->version_source, model::VersionSource::option);
}

TEST_F(TegraTest, NeedsANodeOfItsGpu)
{
    be_a_tegra();
    install();
    node("nvmap", 1);
    make_node("nvidia0", 195, 0);
    system_.file("proc/devices", "Character devices:\n195 nvidia\n");

    const auto driver = find();

    ASSERT_FALSE(driver);
    EXPECT_EQ(driver.error().code(), Errc::no_device);
    EXPECT_THAT(driver.error().hint(), HasSubstr("nvgpu"));
}

TEST_F(TegraTest, KnowsItsNodesWithoutAList)
{
    be_a_tegra();
    install();
    node("nvgpu/igpu0/ctrl", 0);
    node("nvgpu/igpu0/tsg", 1);
    node("nvmap", 2);
    node("nvhost-vic", 3);
    node("ttyTHS0", 4);
    system_.file("dev/nvhost-file");

    const DriverStack driver = found();

    EXPECT_THAT(paths(driver.nodes),
                UnorderedElementsAre("/dev/nvgpu/igpu0/ctrl 0", "/dev/nvgpu/igpu0/tsg -1",
                                     "/dev/nvmap 0", "/dev/nvhost-vic -1"));
    EXPECT_EQ(driver.nodes.back().required, true);
    EXPECT_THAT(test::lines(driver.findings), Contains("nvhost-file: not a character device"));
}

TEST_F(TegraTest, TakesTheNodesThatAreListed)
{
    be_a_tegra();
    install();
    list("devices.csv", "dev, /dev/nvhost-gpu\ndev, nvmap\ndev, /dev/gone\ndev, /dev/no*\n"
                        "dev, /dev/nvidia0\ndev, /dev/nvidia-fake\ndev, /dev/other\n"
                        "dev, /dev/nvhost-gpu\n");
    node("nvhost-gpu", 0);
    node("nvmap", 1);
    node("nvhost-vic", 3);
    node("other", 4, "something");
    make_node("nvidia0", 195, 0);
    make_node("nvidia-fake", 1, 3);
    system_.file("proc/devices", "Character devices:\n195 nvidia\n");

    const DriverStack driver = found();

    EXPECT_THAT(paths(driver.nodes),
                ElementsAre("/dev/nvhost-gpu 0", "/dev/nvmap 0", "/dev/nvidia0 -1"));
    EXPECT_THAT(test::lines(driver.findings),
                IsSupersetOf({"gone: not installed", "no*: not installed",
                              "nvidia-fake: the kernel has another name for the device 1:3, or "
                              "none",
                              "other: the kernel has another name for the device 485:4, or "
                              "none"}));
}

TEST_F(TegraTest, PutsTheNodeThatALinkLeadsToInItsPlace)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);
    node("target", 5);
    system_.link("dev/v4l2-nvdec", "target");
    system_.link("dev/v4l2-nvenc", "../sys/dev");

    const DriverStack driver = found();

    EXPECT_THAT(paths(driver.nodes),
                UnorderedElementsAre("/dev/nvhost-gpu 0", "/dev/v4l2-nvdec -1"));
    EXPECT_EQ(driver.nodes.back().host_path, "/dev/target");
    EXPECT_EQ(driver.nodes.back().capability, model::Capability::video);
    EXPECT_THAT(test::lines(driver.findings), Contains("v4l2-nvenc: not a character device"));
}

TEST_F(TegraTest, ReportsEachRowThatIsNone)
{
    be_a_tegra();
    install();
    node("nvhost-gpu", 0);
    list("a.csv", "foo, /a\nlib, /"s + libraries + "/libcuda.so.1.1\n");
    list("b.csv", "");
    list("c.txt", "foo, /a\n");
    tree_.link(tegra_lists + 1 + "/d.csv"s, "nowhere");
    tree_.link(tegra_lists + 1 + "/e.csv"s, "/../../../../../../../etc/passwd");
    tree_.directory(tegra_lists + 1 + "/f.csv"s);
    list("g.csv", "lib, /"s + libraries + "/libnvrm_gpu.so\n");
    std::filesystem::permissions(tree_.at(tegra_lists + 1 + "/g.csv"s),
                                 std::filesystem::perms::others_write,
                                 std::filesystem::perm_options::add);

    const DriverStack driver = found();

    EXPECT_THAT(names(driver.files), IsSupersetOf({"library libcuda.so.1", "library libnvos.so"}));
    EXPECT_THAT(test::lines(driver.findings),
                UnorderedElementsAre(
                    "a.csv:1: unknown type 'foo'", HasSubstr("d.csv: No such file or directory"),
                    HasSubstr("e.csv: No such file or directory"),
                    HasSubstr("f.csv: not a regular file"), HasSubstr("everybody may write it"),
                    "nv_tegra_release: not installed"));
}

TEST_F(TegraTest, SaysThatCudaIsNotThere)
{
    be_a_tegra();
    node("nvhost-gpu", 0);

    const DriverStack driver = found();

    EXPECT_THAT(driver.files, IsEmpty());
    EXPECT_THAT(test::warnings(driver.findings),
                ElementsAre("libcuda.so.1: is not among the driver's files: CUDA programs do not "
                            "find their driver"));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
