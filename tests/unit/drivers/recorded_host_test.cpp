// SPDX-License-Identifier: MIT
#include "drivers/nvidia/user_space.hpp"

#include "base/text.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "elf_stub.hpp"
#include "host/driver_root.hpp"
#include "recording.hpp"
#include "support/temp_root.hpp"
#include "tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gpucontainer::drivers::nvidia {

using model::FileKind;

namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* recorded = GPUCTR_TEST_SOURCE_DIR "/hosts/h200-x8-ubuntu24.04-580";
constexpr const char* version = "580.159.04";

simhost::StubKind kind_of(const simhost::RecordedFile& file)
{
    const bool library = !file.soname.empty() || file.path.find(".so") != std::string::npos;
    return library ? simhost::StubKind::library : simhost::StubKind::executable;
}

/// The user space of a recorded host in a temporary directory, with whatever
/// else lay around it.
class RecordedUserSpaceTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::vector<std::string> left_out;
        auto host = simhost::read_recording(recorded, simhost::Author::trusted, left_out);
        ASSERT_TRUE(host) << host.error().message();
        simhost::Tree tree(tree_.open());
        for (const simhost::RecordedFile& file : host->files)
            ASSERT_TRUE(lay(file, tree)) << file.path;
        for (const simhost::TextFile& file : host->loader_conf)
            ASSERT_TRUE(tree.file(file.path, file.content));
        ASSERT_TRUE(tree.file("/etc/ld.so.cache", host->loader_cache));
    }

    UserSpace found() const
    {
        auto root = host::DriverRoot::open(tree_.at("usr").parent_path().string());
        EXPECT_TRUE(root) << root.error().message();
        auto space =
            find_user_space(*root, nvidia_catalogue(), version, model::VersionSource::module);
        EXPECT_TRUE(space) << space.error().message();
        return space ? *std::move(space) : UserSpace();
    }

    std::string below(const std::string& path) const
    {
        return path.substr(std::min(path.size(), tree_.at("usr").parent_path().string().size()));
    }

    /// Without those that the distribution built.
    std::vector<std::string> paths(const UserSpace& space, FileKind kind) const
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : space.files)
            if (file.kind == kind && file.precedence != model::Precedence::image)
                all.push_back(below(file.path));
        return all;
    }

    test::TempRoot tree_;

private:
    static Result<void> lay(const simhost::RecordedFile& file, simhost::Tree& tree)
    {
        if (file.is_link)
            return tree.link(file.path, file.target);
        if (file.elf_class.empty())
            return tree.file(file.path, "#!/bin/sh\n", file.mode, file.size);
        auto stub = simhost::make_elf_stub(
            {kind_of(file), file.elf_class, file.machine, file.soname, file.needed, file.versions});
        if (!stub)
            return std::move(stub).error();
        return tree.file(file.path, *stub, file.mode, file.size);
    }
};

TEST_F(RecordedUserSpaceTest, IsTheDriversOwnDirectoryAndNothingElse)
{
    const UserSpace space = found();

    EXPECT_EQ(space.version, version);
    EXPECT_EQ(below(space.library_directory), "/usr/local/nvidia/lib64");
    const auto libraries = paths(space, FileKind::library);
    EXPECT_EQ(libraries.size(), 26U);
    EXPECT_THAT(libraries, Each(StartsWith("/usr/local/nvidia/lib64/")));
    EXPECT_THAT(libraries, Contains("/usr/local/nvidia/lib64/libcuda.so.580.159.04"));
}

TEST_F(RecordedUserSpaceTest, HasTheRealToolsAndNotTheShellWrappers)
{
    EXPECT_THAT(paths(found(), FileKind::tool),
                ElementsAre("/usr/local/nvidia/bin/nvidia-cuda-mps-control",
                            "/usr/local/nvidia/bin/nvidia-cuda-mps-server",
                            "/usr/local/nvidia/bin/nvidia-debugdump",
                            "/usr/local/nvidia/bin/nvidia-persistenced",
                            "/usr/local/nvidia/bin/nvidia-smi"));
}

TEST_F(RecordedUserSpaceTest, HasAllNamesOfALibrary)
{
    const UserSpace space = found();

    const auto cuda = std::find_if(space.files.begin(), space.files.end(),
                                   [](const auto& file) { return file.soname == "libcuda.so.1"; });
    ASSERT_NE(cuda, space.files.end());
    EXPECT_THAT(cuda->links, ElementsAre("libcuda.so.1", "libcuda.so"));
}

TEST_F(RecordedUserSpaceTest, ComesWithTheLoadersThatTheHostsProgramsFind)
{
    std::vector<std::string> loaders;
    for (const model::DriverFile& file : found().files)
        if (file.precedence == model::Precedence::image)
            loaders.push_back(file.soname + " " + below(file.path));

    EXPECT_THAT(loaders,
                ElementsAre("libOpenCL.so.1 "
                            "/usr/local/cuda-13.0/targets/x86_64-linux/lib/libOpenCL.so.1.0.0"));
}

TEST_F(RecordedUserSpaceTest, IsTheSameWithoutTheLoaderCache)
{
    const auto with = paths(found(), FileKind::library);
    std::filesystem::remove(tree_.at("etc/ld.so.cache"));

    EXPECT_EQ(paths(found(), FileKind::library), with);
}

TEST_F(RecordedUserSpaceTest, HasNoCompatCopyAlthoughItsVersionIsAskedFor)
{
    auto root = host::DriverRoot::open(tree_.at("usr").parent_path().string());
    ASSERT_TRUE(root);

    const auto space =
        find_user_space(*root, nvidia_catalogue(), "580.95.05", model::VersionSource::module);

    ASSERT_FALSE(space);
    EXPECT_EQ(space.error().code(), Errc::driver);
    EXPECT_THAT(space.error().message(), Not(testing::HasSubstr("compat")));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
