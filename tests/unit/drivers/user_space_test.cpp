// SPDX-License-Identifier: MIT
#include "unit/drivers/user_space_fixture.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

namespace gpucontainer::drivers::nvidia {

using model::Capability;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(UserSpaceTest, TakesWhatTheLoaderCacheNames)
{
    install("opt/driver", "libcuda.so.1");
    install(multiarch, "libnvidia-ml.so.1");
    tree_.remember("libcuda.so.1", "/opt/driver/libcuda.so.1");
    tree_.remember("libnvidia-ml.so.1", "/" + multiarch + "/libnvidia-ml.so.1");

    const UserSpace space = found();

    EXPECT_EQ(space.version, version);
    EXPECT_EQ(with_root(space.library_directory), "ROOT/opt/driver");
    EXPECT_THAT(paths(space), ElementsAre("ROOT/opt/driver/libcuda.so.535.183.01",
                                          "ROOT/" + multiarch + "/libnvidia-ml.so.535.183.01"));
}

TEST_F(UserSpaceTest, LooksInConfiguredDirectoriesWithoutACache)
{
    install("opt/driver", "libcuda.so.1");
    tree_.file("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n");
    tree_.file("etc/ld.so.conf.d/driver.conf", "# of the driver\n/opt/driver # here\n");

    EXPECT_THAT(names(found()), ElementsAre("libcuda.so.535.183.01 libcuda.so.1"));
}

TEST_F(UserSpaceTest, LooksInOddPlacesLast)
{
    install("usr/local/nvidia/lib64", "libcuda.so.1");

    EXPECT_EQ(with_root(found().library_directory), "ROOT/usr/local/nvidia/lib64");
}

TEST_F(UserSpaceTest, DescribesAFileAsTheCatalogueDoes)
{
    install("usr/lib64", "libcuda.so.1");
    struct stat status = {};
    ASSERT_EQ(::stat(tree_.at("usr/lib64/libcuda.so.1").c_str(), &status), 0);

    const UserSpace space = found();

    ASSERT_THAT(space.files, ::testing::SizeIs(1));
    const model::DriverFile& file = space.files.front();
    EXPECT_EQ(file.kind, model::FileKind::library);
    EXPECT_EQ(file.capability, Capability::compute);
    EXPECT_EQ(file.soname, "libcuda.so.1");
    EXPECT_THAT(file.entry_names, ElementsAre("libcuda.so.1"));
    EXPECT_EQ(file.reason, "CUDA driver API, loaded by every CUDA program");
    EXPECT_EQ(file.id, model::FileId::of(status));
}

TEST_F(UserSpaceTest, FindsModulesInTheDirectoriesOfTheirLoaders)
{
    install(multiarch, "libcuda.so.1");
    install(multiarch + "/vdpau", "libvdpau_nvidia.so.1");
    tree_.library("usr/lib/xorg/modules/drivers/nvidia_drv.so", "nvidia_drv.so");
    install("usr/lib/nvidia/current", "libglxserver_nvidia.so");
    install("usr/lib/elsewhere", "libnvidia-ngx.so.1");

    const UserSpace space = found();

    EXPECT_THAT(paths(space),
                ElementsAre("ROOT/" + multiarch + "/libcuda.so.535.183.01",
                            "ROOT/usr/lib/nvidia/current/libglxserver_nvidia.so.535.183.01",
                            "ROOT/" + multiarch + "/vdpau/libvdpau_nvidia.so.535.183.01",
                            "ROOT/usr/lib/xorg/modules/drivers/nvidia_drv.so"));
    EXPECT_EQ(space.files.back().capability, Capability::display);
}

TEST_F(UserSpaceTest, GivesALibraryTheNamesOfTheInstaller)
{
    install(multiarch, "libcuda.so.1");
    install(multiarch, "libGLX_nvidia.so.0");

    EXPECT_THAT(names(found()),
                ElementsAre("libGLX_nvidia.so.535.183.01 libGLX_indirect.so.0 libGLX_nvidia.so.0",
                            "libcuda.so.535.183.01 libcuda.so.1"));
}

/// Libraries for 32-bit programs.
class Compat32UserSpaceTest : public UserSpaceTest {
protected:
    void SetUp() override
    {
        if (elf::compat32_of(elf::own_machine()) == nullptr)
            GTEST_SKIP() << "this machine runs no 32-bit programs";
    }

    void install32(const std::string& directory, const std::string& soname,
                   const std::string& of_version = version)
    {
        const std::string name = soname.substr(0, soname.find(".so")) + ".so." + of_version;
        tree_.library(directory + "/" + name, soname,
                      elf::own_machine().number == EM_X86_64 ? "Intel 80386" : "ARM", "ELF32");
        if (soname != name)
            tree_.link(directory + "/" + soname, name);
    }

    static std::vector<std::string> names32(const UserSpace& space)
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : space.files)
            if (file.compat32)
                all.push_back(file.name);
        return all;
    }
};

TEST_F(Compat32UserSpaceTest, LieBesideTheUnpackedOnes)
{
    tree_.library("opt/driver/libcuda.so.535.183.01", "libcuda.so.1");
    install32("opt/driver/32", "libcuda.so.1");
    install32("opt/driver/32", "libGLX_nvidia.so.0");
    const auto root = tree_.open_driver("opt/driver");

    const auto space =
        find_user_space(root, nvidia_catalogue(), version, model::VersionSource::module);

    ASSERT_TRUE(space) << space.error().message();
    EXPECT_THAT(paths(*space), ElementsAre("ROOT/opt/driver/32/libGLX_nvidia.so.535.183.01",
                                           "ROOT/opt/driver/libcuda.so.535.183.01",
                                           "ROOT/opt/driver/32/libcuda.so.535.183.01"));
    EXPECT_FALSE(space->files[1].compat32);
    EXPECT_TRUE(space->files[2].compat32);
}

TEST_F(Compat32UserSpaceTest, AreOfTheKernelModulesVersion)
{
    install(multiarch, "libcuda.so.1");
    for (const char* branch : {"current", "tesla-470"})
        install32(base::format("{}/nvidia/{}", test::multiarch32, branch), "libcuda.so.1",
                  std::string_view(branch) == "current" ? version : "470.256.02");
    install32(test::multiarch32, "libnvidia-eglcore.so.535.183.01");
    install32(test::multiarch32, "libnvidia-eglcore.so.470.256.02", "470.256.02");

    const UserSpace space = found();

    EXPECT_THAT(names32(space),
                ElementsAre("libcuda.so.535.183.01", "libnvidia-eglcore.so.535.183.01"));
}

TEST_F(Compat32UserSpaceTest, AreLeftAloneWhereTheOthersAre)
{
    install("usr/lib", "libcuda.so.1");
    install32("usr/lib32", "libcuda.so.1");

    const UserSpace space = found();

    EXPECT_THAT(paths(space), ElementsAre("ROOT/usr/lib/libcuda.so.535.183.01",
                                          "ROOT/usr/lib32/libcuda.so.535.183.01"));
    EXPECT_THAT(space.findings, ::testing::Each(::testing::Field(
                                    &model::Finding::code, model::FindingCode::not_installed)));
}

TEST_F(Compat32UserSpaceTest, NeedOneAnother)
{
    install(multiarch, "libcuda.so.1");
    install(multiarch, "libnvcuvid.so.1");
    install32(test::multiarch32, "libnvcuvid.so.1");

    const UserSpace space = found();

    ASSERT_EQ(space.files.size(), 3U);
    EXPECT_THAT(space.files[1].needed, ElementsAre("libcuda.so.1"));
    EXPECT_THAT(space.files[2].needed, IsEmpty()) << "the 64-bit libcuda is no help to it";
}

TEST_F(UserSpaceTest, NamesALibraryWithoutSonameByItsFile)
{
    install(multiarch, "libcuda.so.1");
    const std::string directory = multiarch + "/";
    tree_.library(directory + "libnvidia-vulkan-producer.so.535.183.01", "");
    tree_.library(directory + "libnvidia-brandnew.so.535.183.01", "");

    const UserSpace space = found();

    EXPECT_THAT(names(space), ElementsAre("libcuda.so.535.183.01 libcuda.so.1",
                                          "libnvidia-brandnew.so.535.183.01 ",
                                          "libnvidia-vulkan-producer.so.535.183.01 "
                                          "libnvidia-vulkan-producer.so"));
    EXPECT_EQ(space.files[1].soname, "libnvidia-brandnew.so.535.183.01");
    EXPECT_EQ(space.files[2].capability, Capability::graphics);
}

TEST_F(UserSpaceTest, KnowsWhatItsLibrariesNeedOfItsOwn)
{
    install(multiarch, "libcuda.so.1");
    install(multiarch, "libnvcuvid.so.1");
    tree_.elf(multiarch + "/libnvidia-encode.so.535.183.01", {simhost::StubKind::library,
                                                              "",
                                                              "",
                                                              "libnvidia-encode.so.1",
                                                              {"libnvcuvid.so.1", "libc.so.6"},
                                                              {}});

    const UserSpace space = found();

    ASSERT_EQ(space.files.size(), 3U);
    EXPECT_THAT(space.files[0].needed, IsEmpty());
    EXPECT_THAT(space.files[1].needed, ElementsAre("libcuda.so.1"));
    EXPECT_THAT(space.files[2].needed, ElementsAre("libcuda.so.1", "libnvcuvid.so.1"));
}

TEST_F(UserSpaceTest, KnowsWhatALoaderNeedsOfTheImage)
{
    install(multiarch, "libcuda.so.1");
    install(multiarch, "libGLX_nvidia.so.0");
    const std::string loader = multiarch + "/libGLX.so.0.0.0";
    tree_.elf(loader, {simhost::StubKind::library,
                       "",
                       "",
                       "libGLX.so.0",
                       {"libX11.so.6", "libGLdispatch.so.0", "libc.so.6"},
                       {"GLIBC_2.2.5"}});
    tree_.link(multiarch + "/libGLX.so.0", "libGLX.so.0.0.0");

    const UserSpace space = found();

    ASSERT_EQ(space.files.size(), 3U);
    const auto& file = space.files.front();
    EXPECT_EQ(file.name, "libGLX.so.0.0.0");
    EXPECT_EQ(file.precedence, model::Precedence::image);
    EXPECT_EQ(file.capability, Capability::graphics);
    EXPECT_THAT(file.needed, ElementsAre("libGLdispatch.so.0", "libX11.so.6"));
    ASSERT_EQ(file.versions.size(), 1U);
    EXPECT_EQ(file.versions.front().version, "GLIBC_2.2.5");
}

TEST_F(UserSpaceTest, PrefersTheRightVersionToTheFirstOne)
{
    install("opt/old", "libcuda.so.1", "525.60.13");
    install("opt/new", "libcuda.so.1");
    install("opt/old", "libnvidia-ml.so.1", "525.60.13");
    install("opt/new", "libnvidia-ml.so.1");
    for (const char* soname : {"libcuda.so.1", "libnvidia-ml.so.1"})
        for (const char* directory : {"/opt/old/", "/opt/new/"})
            tree_.remember(soname, directory + std::string(soname));

    const UserSpace space = found();

    EXPECT_THAT(paths(space), ElementsAre("ROOT/opt/new/libcuda.so.535.183.01",
                                          "ROOT/opt/new/libnvidia-ml.so.535.183.01"));
    EXPECT_THAT(skipped(space, "libcuda.so.1"),
                ElementsAre("ROOT/opt/old/libcuda.so.1: is version 525.60.13; the kernel module is "
                            "version 535.183.01"));
}

TEST_F(UserSpaceTest, LeavesAnOlderVersionInTheSameDirectory)
{
    install("usr/lib64", "libcuda.so.1");
    install("usr/lib64", "libnvidia-ml.so.1");
    tree_.library("usr/lib64/libcuda.so.525.60.13", "libcuda.so.1");
    tree_.library("usr/lib64/libnvidia-ptxjitcompiler.so.525.60.13",
                  "libnvidia-ptxjitcompiler.so.1");

    EXPECT_THAT(names(found()), ElementsAre("libcuda.so.535.183.01 libcuda.so.1",
                                            "libnvidia-ml.so.535.183.01 libnvidia-ml.so.1"));
}

TEST_F(UserSpaceTest, NamesBothVersionsWhenTheyDiffer)
{
    install("usr/lib64", "libcuda.so.1", "525.60.13");

    const auto result = find();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Errc::driver);
    EXPECT_EQ(result.error().object(), "libcuda.so.1");
    EXPECT_EQ(with_root(result.error().message()),
              "no libcuda.so.1 of version 535.183.01 in ROOT: ROOT/usr/lib64/libcuda.so.1 is "
              "version 525.60.13; the kernel module is version 535.183.01");
    EXPECT_EQ(result.error().hint(),
              "user space and kernel module must be of one version: reboot, or reload the module, "
              "after a driver update");
}

TEST_F(UserSpaceTest, NamesTheVersionsThatAreThereInsteadOfAnAskedOne)
{
    install("usr/lib64", "libcuda.so.1", "525.60.13");
    install("opt/driver", "libcuda.so.1", "550.54.14");
    tree_.remember("libcuda.so.1", "/opt/driver/libcuda.so.1");

    for (const auto source : {model::VersionSource::option, model::VersionSource::files}) {
        const auto result = find(version, source);

        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code(), Errc::driver);
        EXPECT_EQ(with_root(result.error().message()),
                  "no libcuda.so.1 of version 535.183.01 in ROOT: ROOT/opt/driver/libcuda.so.1 is "
                  "version 550.54.14, not 535.183.01; ROOT/usr/lib64/libcuda.so.1 is version "
                  "525.60.13, not 535.183.01");
        EXPECT_EQ(result.error().hint(),
                  "name a version that is installed, or another driver root");
    }
}

TEST_F(UserSpaceTest, SaysThatNothingIsInstalled)
{
    const auto result = find();

    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Errc::no_device);
    EXPECT_EQ(with_root(result.error().message()), "no libcuda.so.1 of version 535.183.01 in ROOT");
    EXPECT_EQ(result.error().hint(),
              "install the driver's user space, or name its directory as driver root");
}

TEST_F(UserSpaceTest, InfersTheVersionFromTheFiles)
{
    install("usr/lib64", "libcuda.so.1", "550.54.14");
    install("usr/lib64", "libnvidia-ml.so.1", "550.54.14");
    install("usr/lib64", "libnvcuvid.so.1", "535.183.01");

    const UserSpace space = found(std::nullopt);

    EXPECT_EQ(space.version, "550.54.14");
    EXPECT_THAT(names(space), ElementsAre("libcuda.so.550.54.14 libcuda.so.1",
                                          "libnvidia-ml.so.550.54.14 libnvidia-ml.so.1"));
}

TEST_F(UserSpaceTest, TakesLibrariesOfTheSameVersionThatNobodyKnows)
{
    install("usr/lib64", "libcuda.so.1");
    install("usr/lib64", "libnvidia-novelty.so.3");
    tree_.library("usr/lib64/libnvidia-other.so.525.60.13", "libnvidia-other.so.1");
    tree_.library("usr/lib64/libfoo.so.1", "libfoo.so.1");

    const UserSpace space = found();

    EXPECT_THAT(names(space),
                ElementsAre("libcuda.so.535.183.01 libcuda.so.1",
                            "libnvidia-novelty.so.535.183.01 libnvidia-novelty.so.3"));
    EXPECT_EQ(space.files.back().capability, Capability::compute);
    EXPECT_EQ(space.files.back().reason,
              "of this driver's version, though the catalogue does not name it");
    EXPECT_THAT(space.files.back().entry_names, IsEmpty());
}

TEST_F(UserSpaceTest, TakesLibrariesWithAVersionOfTheirOwn)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.library("usr/lib64/libnvidia-nvvm70.so.4", "libnvidia-nvvm70.so.4");
    tree_.library("usr/lib64/libnvidia-egl-wayland.so.1.1.13", "libnvidia-egl-wayland.so.1");
    tree_.link("usr/lib64/libnvidia-egl-wayland.so.1", "libnvidia-egl-wayland.so.1.1.13");

    EXPECT_THAT(names(found()),
                ElementsAre("libcuda.so.535.183.01 libcuda.so.1",
                            "libnvidia-egl-wayland.so.1.1.13 libnvidia-egl-wayland.so.1",
                            "libnvidia-nvvm70.so.4 "));
}

TEST_F(UserSpaceTest, TellsAFileThatHasTheNameOfAnothersSoname)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.library("usr/lib64/libnvidia-a.so.535.183.01", "libnvidia-b.so.535.183.01");
    tree_.library("usr/lib64/libnvidia-b.so.535.183.01", "libnvidia-b.so.1");

    const UserSpace space = found();

    EXPECT_THAT(names(space), ElementsAre("libcuda.so.535.183.01 libcuda.so.1",
                                          "libnvidia-a.so.535.183.01 libnvidia-b.so.535.183.01"));
    EXPECT_THAT(
        skipped(space, "libnvidia-b.so.535.183.01"),
        ElementsAre("ROOT/usr/lib64/libnvidia-b.so.535.183.01: another file of the same name "
                    "was found first"));
}

TEST_F(UserSpaceTest, GivesDevelopmentNamesOnlyToTheirOwnFile)
{
    install("usr/lib64", "libcuda.so.1");
    install("usr/lib64", "libnvidia-ml.so.1");
    tree_.link("usr/lib64/libcuda.so", "libcuda.so.1");
    tree_.library("usr/lib64/libnvidia-ml.so", "libnvidia-ml.so.1");

    EXPECT_THAT(names(found()), ElementsAre("libcuda.so.535.183.01 libcuda.so.1 libcuda.so",
                                            "libnvidia-ml.so.535.183.01 libnvidia-ml.so.1"));
}

TEST_F(UserSpaceTest, TakesToolsBesideTheLibraries)
{
    install("opt/driver/lib64", "libcuda.so.1");
    tree_.tool("opt/driver/bin/nvidia-smi");
    tree_.tool("usr/bin/nvidia-debugdump");
    tree_.remember("libcuda.so.1", "/opt/driver/lib64/libcuda.so.1");

    const UserSpace space = found();

    ASSERT_THAT(space.files, ::testing::SizeIs(2));
    EXPECT_EQ(with_root(space.files.back().path), "ROOT/opt/driver/bin/nvidia-smi");
    EXPECT_EQ(space.files.back().kind, model::FileKind::tool);
    EXPECT_EQ(space.files.back().capability, Capability::utility);
    EXPECT_THAT(space.files.back().entry_names, ElementsAre("nvidia-smi"));
}

TEST_F(UserSpaceTest, TakesToolsFromWhereDistributionsPutThem)
{
    const auto tools_for = [&](const std::string& libraries, const std::string& tools) {
        tree_.forget();
        install(libraries, "libcuda.so.1");
        tree_.tool(tools + "/nvidia-smi");
        tree_.remember("libcuda.so.1", "/" + libraries + "/libcuda.so.1");
        return paths(found()).back();
    };

    for (const auto& [libraries, tools] : {
             std::pair{"usr/lib64", "usr/sbin"},
             std::pair{"usr/lib/nvidia/tesla", "usr/libexec/nvidia/tesla/bin"},
             std::pair{"top/usr/lib/nvidia/tesla", "top/usr/libexec/nvidia/tesla/bin"},
             std::pair{"usr/lib/x86_64-linux-gnu/nvidia/tesla-470", "usr/lib/nvidia/tesla-470"},
             std::pair{"usr/local/glibc/lib", "usr/local/bin"},
             std::pair{"opt/nvidia/current/usr/lib64", "opt/bin"},
         })
        EXPECT_EQ(tools_for(libraries, tools), base::format("ROOT/{}/nvidia-smi", tools));
}

TEST_F(UserSpaceTest, LeavesShellWrappersAndForeignTools)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.file("usr/bin/nvidia-smi", "#!/bin/sh\nexec /opt/nvidia-smi\n");
    tree_.tool("usr/bin/nvidia-debugdump", test::foreign_machine);

    const UserSpace space = found();

    EXPECT_THAT(names(space), ElementsAre("libcuda.so.535.183.01 libcuda.so.1"));
    EXPECT_THAT(skipped(space, "nvidia-smi"),
                ElementsAre("ROOT/usr/bin/nvidia-smi: is not an ELF program"));
    EXPECT_THAT(skipped(space, "nvidia-debugdump"),
                ElementsAre("ROOT/usr/bin/nvidia-debugdump: is for another machine"));
}

TEST_F(UserSpaceTest, SaysWhichEntryLibrariesAreMissing)
{
    install("usr/lib64", "libcuda.so.1");

    EXPECT_THAT(skipped(found(), "libnvidia-ml.so.1"),
                ElementsAre("ROOT/usr/lib64: not installed"));
}

TEST_F(UserSpaceTest, SaysWhichLinksAndCacheEntriesLeadNowhere)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.link("usr/lib64/libnvidia-cfg.so.1", "libnvidia-cfg.so.470.1");
    tree_.link("usr/lib64/libnvcuvid.so.1", "libnvcuvid.so.470.1");
    for (const char* soname : {"libcuda.so.1", "libnvidia-cfg.so.1", "libnvidia-ml.so.1"})
        tree_.remember(soname, std::string("/usr/lib64/") + soname);

    const UserSpace space = found();

    EXPECT_THAT(skipped(space, "libnvidia-cfg.so.1"),
                ElementsAre("ROOT/usr/lib64/libnvidia-cfg.so.1: is a link to "
                            "libnvidia-cfg.so.470.1, which is not there"));
    EXPECT_THAT(skipped(space, "libnvcuvid.so.1"),
                ElementsAre("ROOT/usr/lib64/libnvcuvid.so.1: is a link to "
                            "libnvcuvid.so.470.1, which is not there"));
    EXPECT_THAT(skipped(space, "libnvidia-ml.so.1"),
                ElementsAre("ROOT/usr/lib64/libnvidia-ml.so.1: is in the loader cache, but not "
                            "there"));
}

TEST_F(UserSpaceTest, DoesNotMindADanglingLinkWhoseLibraryIsFoundElsewhere)
{
    install("usr/lib64", "libcuda.so.1");
    tree_.library("usr/lib64/libnvidia-cfg.so.535.183.01", "libnvidia-cfg.so.1");
    tree_.link("usr/lib64/libnvidia-cfg.so.1", "libnvidia-cfg.so.470.1");

    const UserSpace space = found();

    EXPECT_THAT(names(space), testing::Contains("libnvidia-cfg.so.535.183.01 libnvidia-cfg.so.1"));
    EXPECT_THAT(skipped(space, "libnvidia-cfg.so.1"), testing::IsEmpty());
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
