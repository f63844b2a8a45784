// SPDX-License-Identifier: MIT
#include "drivers/nvidia/tegra_files.hpp"

#include "unit/drivers/tegra_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

using model::Capability;
using search::ClosedSet;

namespace {

using namespace std::string_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class TegraFilesTest : public TegraFixture {};

TEST_F(TegraFilesTest, TakesLibrariesWithWhatTheyNeed)
{
    install();
    library("libother.so", "libother.so", {});

    const ClosedSet set = files("lib, /"s + libraries + "/libcuda.so.1.1\n");

    EXPECT_THAT(names(set.files), ElementsAre("library libcuda.so.1", "library libnvos.so",
                                              "library libnvrm_gpu.so"));
    EXPECT_EQ(set.files[0].capability, Capability::compute);
    EXPECT_THAT(set.files[0].reason, HasSubstr("CUDA driver API"));
    EXPECT_EQ(set.files[1].precedence, model::Precedence::image) << "no list has it";
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
    EXPECT_NE(set.files[2].precedence, model::Precedence::image);
}

TEST_F(TegraFilesTest, KnowsFilesByEachNameThatRowsHave)
{
    install();
    tree_.link("usr/lib/aarch64-linux-gnu/libcuda.so", "nvidia/libcuda.so.1");
    tree_.link("usr/lib/other/libnvos.so", "../aarch64-linux-gnu/nvidia/libcuda.so.1");
    tree_.link("usr/lib/aarch64-linux-gnu/libgone.so", "nvidia/libgone.so");
    tree_.link("usr/lib/aarch64-linux-gnu/libout.so", "/../../../../../../../../../etc/passwd");
    tree_.file("usr/lib/other.so", "text");
    const std::string here = "/usr/lib/aarch64-linux-gnu/";

    const ClosedSet set =
        files("lib, " + here + "nvidia/lib*.so*\nsym, " + here
              + "libcuda.so\nsym, /usr/lib/other/libnvos.so\nsym, " + here + "libgone.so\nsym, "
              + here + "libout.so\nsym, /usr/lib/other.so\n");

    ASSERT_THAT(names(set.files), SizeIs(3));
    EXPECT_THAT(set.files[0].links, UnorderedElementsAre("libcuda.so.1", "libcuda.so"));
    EXPECT_THAT(test::lines(set.findings),
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
    EXPECT_EQ(*set.files[1].registered(model::Manner::fixed_path), "/usr/share/nvidia-b/file");
    EXPECT_TRUE(set.files[2].directory);
    EXPECT_EQ(*set.files[3].registered(model::Manner::fixed_path), "/opt/nvidia.json");
    EXPECT_EQ(set.files[3].path, set.files[4].path);
    EXPECT_EQ(set.files[4].capability, Capability::graphics);
    EXPECT_THAT(test::lines(set.findings),
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
    EXPECT_THAT(test::lines(set.findings),
                IsSupersetOf({"libneedy.so: needs libnowhere.so, which is not there"}));
    EXPECT_THAT(test::lines(set.findings), Contains(HasSubstr("libforeign.so: is for")));
    EXPECT_THAT(test::lines(set.findings), Contains(HasSubstr("libbad.so: ")));
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

    EXPECT_THAT(test::lines(files(rows).findings),
                Contains("gone: exceeds the limit of 3000 files"));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
