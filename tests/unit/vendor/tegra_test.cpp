// SPDX-License-Identifier: MIT
#include "vendor/nvidia/tegra.hpp"

#include "support/temp_root.hpp"
#include "unit/vendor/driver_tree.hpp"
#include "unit/vendor/fake_enumerator.hpp"
#include "vendor/nvidia/catalogue_nvidia.hpp"
#include "vendor/nvidia/nvidia.hpp"
#include "vendor/nvidia/tegra_files.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::vendor::nvidia {
namespace {

using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* libraries = "usr/lib/aarch64-linux-gnu/nvidia";
constexpr unsigned gpu_major = 485;

class TegraFilesTest : public ::testing::Test {
protected:
    TegraFilesTest() { system_.file("proc/sys/kernel/osrelease", "5.10.104-tegra\n"); }

    void be_a_tegra() { system_.file("sys/devices/soc0/family", "Tegra\n"); }

    /// A node of that number, which the kernel calls by its name.
    void node(const std::string& name, unsigned minor, const std::string& kernels_name = "")
    {
        ASSERT_TRUE(make_node(name, gpu_major, minor));
        system_.file(fmt::format("sys/dev/char/{}:{}/uevent", gpu_major, minor),
                     fmt::format("MAJOR={}\nMINOR={}\nDEVNAME={}\n", gpu_major, minor,
                                 kernels_name.empty() ? name : kernels_name));
    }

    bool make_node(const std::string& name, unsigned major, unsigned minor)
    {
        const auto path = system_.at("dev/" + name);
        std::filesystem::create_directories(path.parent_path());
        return ::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(major, minor)) == 0;
    }

    void install()
    {
        library("libcuda.so.1.1", "libcuda.so.1", {"libnvrm_gpu.so", "libc.so.6"});
        tree_.link(libraries + "/libcuda.so.1"s, "libcuda.so.1.1");
        library("libnvrm_gpu.so", "libnvrm_gpu.so", {"libnvos.so"});
        library("libnvos.so", "libnvos.so", {});
    }

    void library(const std::string& name, const std::string& soname,
                 std::vector<std::string> needed)
    {
        simhost::ElfStub stub;
        stub.kind = simhost::StubKind::library;
        stub.soname = soname;
        stub.needed = std::move(needed);
        tree_.elf(fmt::format("{}/{}", libraries, name), std::move(stub));
    }

    void list(const std::string& name, const std::string& text)
    {
        tree_.file(fmt::format("{}/{}", tegra_lists + 1, name), text);
    }

    std::string root() const { return system_.at("proc").parent_path().string(); }

    Result<std::optional<DriverStack>> find(const std::string& given_version = "")
    {
        const auto root_of_driver = tree_.open_driver();
        return detect({pci_, root_of_driver, root(), given_version});
    }

    DriverStack found()
    {
        auto driver = find();
        EXPECT_TRUE(driver) << driver.error().message();
        EXPECT_TRUE(driver && *driver);
        return driver && *driver ? **std::move(driver) : DriverStack();
    }

    std::string loaded() const
    {
        const auto version = loaded_version(root());
        return version && *version ? **version : "none";
    }

    /// The files of these rows.
    ClosedSet files(const std::string& rows)
    {
        const auto root_of_driver = tree_.open_driver();
        auto set = find_tegra_files(root_of_driver, nvidia_catalogue(), parse_tegra_csv(rows).rows);
        EXPECT_TRUE(set) << set.error().message();
        return set ? *std::move(set) : ClosedSet();
    }

    static std::vector<std::string> names(const std::vector<DriverFile>& files)
    {
        std::vector<std::string> all;
        for (const DriverFile& file : files)
            all.push_back(fmt::format("{} {}", name(file.kind),
                                      file.soname.empty() ? file.name : file.soname));
        return all;
    }

    static std::vector<std::string> paths(const std::vector<DeviceNode>& nodes)
    {
        std::vector<std::string> all;
        for (const DeviceNode& node : nodes)
            all.push_back(fmt::format("{} {}", node.path, node.gpu));
        return all;
    }

    /// "NAME: REASON" of what was left out.
    static std::vector<std::string> reasons(const std::vector<Skipped>& skipped)
    {
        std::vector<std::string> all;
        for (const Skipped& one : skipped)
            all.push_back(one.name + ": " + one.reason);
        return all;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator pci_;
};

/// For those who may make nodes.
class TegraTest : public TegraFilesTest {
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
    EXPECT_THAT(driver.warnings, IsEmpty());
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
        EXPECT_EQ(driver.version_source, VersionSource::module);
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
    EXPECT_EQ((*driver)->version_source, VersionSource::option);
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
    EXPECT_THAT(reasons(driver.skipped), Contains("nvhost-file: not a character device"));
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
    EXPECT_THAT(reasons(driver.skipped),
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
    EXPECT_EQ(driver.nodes.back().capability, Capability::video);
    EXPECT_THAT(reasons(driver.skipped), Contains("v4l2-nvenc: not a character device"));
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
    EXPECT_THAT(reasons(driver.skipped),
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
    ASSERT_THAT(driver.warnings, SizeIs(1));
    EXPECT_THAT(driver.warnings[0].text, HasSubstr("no libcuda.so.1"));
}

TEST_F(TegraFilesTest, TakesLibrariesWithWhatTheyNeed)
{
    install();
    library("libother.so", "libother.so", {});

    const ClosedSet set = files("lib, /"s + libraries + "/libcuda.so.1.1\n");

    EXPECT_THAT(names(set.files), ElementsAre("library libcuda.so.1", "library libnvos.so",
                                              "library libnvrm_gpu.so"));
    EXPECT_EQ(set.files[0].capability, Capability::compute);
    EXPECT_THAT(set.files[0].reason, HasSubstr("CUDA driver API"));
    EXPECT_TRUE(set.files[1].neutral) << "no list has it";
}

TEST_F(TegraFilesTest, TakesAllLibrariesBesideCudaWithoutRows)
{
    install();
    library("libother.so.3.2", "libother.so.3", {});
    tree_.file(libraries + "/nvidia_icd.json"s, "{}");
    tree_.file(libraries + "/libtext.so"s, "INPUT(a)");
    tree_.library("usr/lib/aarch64-linux-gnu/tegra-egl/libegl.so", "libegl.so");
    tree_.library("usr/lib/aarch64-linux-gnu/tegra/libold.so", "libold.so");

    const ClosedSet set = files("");

    EXPECT_THAT(names(set.files),
                ElementsAre("library libcuda.so.1", "library libegl.so", "library libnvos.so",
                            "library libnvrm_gpu.so", "library libother.so.3"));
    EXPECT_EQ(set.files[1].capability, Capability::graphics);
    EXPECT_FALSE(set.files[2].neutral);
}

TEST_F(TegraFilesTest, KnowsFilesByEachNameThatRowsHave)
{
    install();
    tree_.link("usr/lib/aarch64-linux-gnu/libcuda.so", "nvidia/libcuda.so.1");
    tree_.link("usr/lib/aarch64-linux-gnu/libnvos.so", "nvidia/libcuda.so.1");
    tree_.link("usr/lib/aarch64-linux-gnu/libgone.so", "nvidia/libgone.so");
    tree_.link("usr/lib/aarch64-linux-gnu/libout.so", "/../../../../../../../../../etc/passwd");
    tree_.file("usr/lib/other.so", "text");
    const std::string here = "/usr/lib/aarch64-linux-gnu/";

    const ClosedSet set =
        files("lib, " + here + "nvidia/lib*.so*\nsym, " + here + "libcuda.so\nsym, " + here
              + "libnvos.so\nsym, " + here + "libgone.so\nsym, " + here
              + "libout.so\nsym, /usr/lib/other.so\n");

    ASSERT_THAT(names(set.files), SizeIs(3));
    EXPECT_THAT(set.files[0].links, UnorderedElementsAre("libcuda.so.1", "libcuda.so"));
    EXPECT_THAT(reasons(set.skipped),
                UnorderedElementsAre("libnvos.so: another file of the driver has this name",
                                     "libgone.so: leads to nothing", "libout.so: leads to nothing",
                                     "other.so: leads to nothing that is taken",
                                     "nv_tegra_release: not installed"));
}

TEST_F(TegraFilesTest, TakesDataAtItsPath)
{
    tree_.file("usr/share/nvidia/a/file", "text");
    tree_.file("usr/share/nvidia-b/file", "text");
    tree_.file("etc/vulkan/icd.d/nvidia_icd.json", "{}");
    tree_.link("opt/nvidia.json", "../etc/vulkan/icd.d/nvidia_icd.json");
    tree_.tool("usr/bin/tegrastats", test::native_machine, "/lib/ld.so");

    const ClosedSet set =
        files("dir, /usr/share/nvidia\nlib, /usr/share/nvidia/a/file\ndir, /usr/share/nvidia\n"
              "lib, /usr/share/nvidia-b/file\nlib, /etc/vulkan/icd.d/nvidia_icd.json\n"
              "sym, /opt/nvidia.json\nlib, /usr/bin/tegrastats\ndir, /usr/gone\nlib, /usr\n");

    EXPECT_THAT(names(set.files), ElementsAre("tool tegrastats", "data file", "data nvidia",
                                              "data nvidia.json", "data nvidia_icd.json"));
    EXPECT_EQ(set.files[0].capability, Capability::utility);
    EXPECT_EQ(set.files[1].target, "/usr/share/nvidia-b/file");
    EXPECT_TRUE(set.files[2].directory);
    EXPECT_EQ(set.files[3].target, "/opt/nvidia.json");
    EXPECT_EQ(set.files[3].path, set.files[4].path);
    EXPECT_EQ(set.files[4].capability, Capability::graphics);
    EXPECT_THAT(reasons(set.skipped),
                IsSupersetOf({"gone: not installed", "usr: /usr: not a regular file"}));
}

TEST_F(TegraFilesTest, LeavesOutWhatCannotBeLoaded)
{
    install();
    library("libneedy.so", "libneedy.so", {"libnowhere.so"});
    tree_.library(libraries + "/libforeign.so"s, "libforeign.so", test::foreign_machine);
    tree_.file(libraries + "/libbad.so"s, "\x7f"
                                          "ELF bad");

    const ClosedSet set = files("lib, /"s + libraries + "/lib*\n");

    EXPECT_THAT(names(set.files), SizeIs(3));
    EXPECT_THAT(reasons(set.skipped),
                IsSupersetOf({"libneedy.so: needs libnowhere.so, which is not there"}));
    EXPECT_THAT(reasons(set.skipped), Contains(HasSubstr("libforeign.so: is for")));
    EXPECT_THAT(reasons(set.skipped), Contains(HasSubstr("libbad.so: ")));
}

TEST_F(TegraFilesTest, TakesFilesOfSeveralInstallations)
{
    install();
    tree_.library("opt/nvidia/vpi3/lib/libnvvpi.so.3", "libnvvpi.so.3");

    const ClosedSet set =
        files("lib, /"s + libraries + "/libcuda.so.1.1\nlib, /opt/nvidia/vpi3/lib/libnvvpi.so.3\n");

    EXPECT_THAT(names(set.files), Contains("library libnvvpi.so.3"));
}

TEST_F(TegraFilesTest, EndsWithTooManyPaths)
{
    std::string rows;
    for (int i = 0; i < 3001; ++i)
        rows += "sym, /gone\n";

    EXPECT_THAT(reasons(files(rows).skipped), Contains("gone: is one of too many"));
}

} // namespace
} // namespace gpucontainer::vendor::nvidia
