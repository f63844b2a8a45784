// SPDX-License-Identifier: MIT
#include "search/host_runtime.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "elf/machine.hpp"
#include "unit/drivers/driver_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace gpucontainer::search {
namespace {

using test::multiarch;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A driver root with a copy of this machine's C library.
class HostRuntimeTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        const std::string own = "/" + multiarch;
        if (!std::filesystem::exists(own + "/libc.so.6"))
            GTEST_SKIP() << "this machine has its C library elsewhere than Debian";
        for (const CLibraryPart& part : parts_of_c_library())
            if (const std::string path = base::format("{}/{}", own, part.soname);
                std::filesystem::exists(path))
                tree_.file(base::format("{}/{}", multiarch, part.soname), content(path));
        tree_.file(at_home(loader_), content(base::format("{}/{}", own, loader_)));
        tree_.link(std::string(elf::own_machine().loader.substr(1)), "/" + at_home(loader_));
        tree_.file(at_home("gconv/gconv-modules"), "");
        driver_.root = root();
    }

    static std::string content(const std::string& path)
    {
        constexpr std::size_t limit = 64U << 20U;
        auto read = base::read_file(path, limit);
        EXPECT_TRUE(read) << read.error().message();
        return read ? *std::move(read) : "";
    }

    std::string root() const { return std::filesystem::canonical(tree_.at(".")).string(); }

    void remove(const std::string& path) const { std::filesystem::remove(tree_.at(path)); }

    static std::string at_home(const std::string& name)
    {
        return base::format("{}/{}", multiarch, name);
    }

    /// Has a file be of another build, in so far as these bytes are of the same length.
    void change(const std::string& name, std::string_view from, std::string_view to)
    {
        const std::string path = tree_.at(at_home(name));
        std::string bytes = content(path);
        const std::size_t at = bytes.find(from);
        ASSERT_NE(at, std::string::npos) << name;
        bytes.replace(at, to.size(), to);
        std::ofstream(path, std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }

    HostCLibrary find() const
    {
        auto found = find_host_runtime({&driver_, 1});
        EXPECT_TRUE(found) << found.error().message();
        return found ? std::move(found->c_library) : HostCLibrary();
    }

    const std::string loader_ = std::string(base::name_of(elf::own_machine().loader));
    test::DriverTree tree_;
    model::DriverStack driver_;
};

TEST_F(HostRuntimeTest, IsAllOfOneBuild)
{
    const HostCLibrary found = find();

    ASSERT_EQ(found.problem, "");
    ASSERT_GE(found.files.size(), 8U);
    EXPECT_EQ(found.files.front().soname, loader_);
    for (const char* soname : {"libc.so.6", "libm.so.6", "libpthread.so.0", "libresolv.so.2"}) {
        ASSERT_NE(found.find(soname), nullptr) << soname;
        EXPECT_EQ(found.find(soname)->path, base::format("{}/{}", root(), at_home(soname)));
    }
    EXPECT_THAT(found.find("libc.so.6")->versions, Contains(StartsWith("GLIBC_2.3")));
    EXPECT_EQ(found.find("libcuda.so.1"), nullptr);
    EXPECT_NE(found.release, "");
    EXPECT_EQ(found.gconv, base::format("{}/{}", root(), at_home("gconv")));
}

TEST_F(HostRuntimeTest, IsNotTakenWithAPartOfAnotherBuild)
{
    change("libm.so.6", std::string_view("\0_rtld_global_ro\0", 17),
           std::string_view("\0_rtld_global_rx\0", 17));

    EXPECT_THAT(find().problem, AllOf(HasSubstr("of different builds"), HasSubstr("libm.so.6"),
                                      HasSubstr("_rtld_global_rx")));
    EXPECT_TRUE(find().files.empty());
}

TEST_F(HostRuntimeTest, IsNotTakenWithALoaderOfAnotherRelease)
{
    change(loader_, "ld.so (", "ld.so (X");

    EXPECT_THAT(find().problem, AllOf(HasSubstr("of different builds"), HasSubstr("it is of X")));
}

TEST_F(HostRuntimeTest, IsNotTakenWithAPartOfANewerRelease)
{
    change("libresolv.so.2", "GLIBC_2.", "GLIBC_9.");

    EXPECT_THAT(find().problem,
                AllOf(HasSubstr("libresolv.so.2"), HasSubstr("libc.so.6 has no GLIBC_9.")));
}

TEST_F(HostRuntimeTest, LiesInOneDirectory)
{
    tree_.file("opt/libdl.so.2", content(tree_.at(at_home("libdl.so.2"))));
    remove(at_home("libdl.so.2"));
    tree_.link(at_home("libdl.so.2"), "/opt/libdl.so.2");

    EXPECT_THAT(find().problem, HasSubstr("it lies not in"));
}

TEST_F(HostRuntimeTest, IsComplete)
{
    remove(at_home("librt.so.1"));
    EXPECT_THAT(find().problem, AllOf(HasSubstr("incomplete"), HasSubstr("librt.so.1")));

    tree_.file(at_home("librt.so.1"), "no library");
    EXPECT_THAT(find().problem, AllOf(HasSubstr("incomplete"), HasSubstr("librt.so.1")));

    remove(std::string(elf::own_machine().loader.substr(1)));
    EXPECT_THAT(find().problem, HasSubstr(elf::own_machine().loader));
}

TEST_F(HostRuntimeTest, MayLackWhatNotEachReleaseHas)
{
    for (const char* name : {"libnsl.so.1", "libnss_hesiod.so.2"})
        remove(at_home(name));

    EXPECT_EQ(find().problem, "");
    EXPECT_EQ(find().find("libnsl.so.1"), nullptr);
}

TEST_F(HostRuntimeTest, OfSeveralDriverRootsIsNotKnown)
{
    model::DriverStack other = driver_;
    other.root = "/";
    const std::vector<model::DriverStack> drivers = {driver_, other};

    const auto found = find_host_runtime(drivers);

    ASSERT_TRUE(found);
    EXPECT_THAT(found->c_library.problem, HasSubstr("different driver roots"));
}

TEST_F(HostRuntimeTest, TellsWhatFilesOfTheDriverNeed)
{
    model::DriverFile cuda;
    cuda.soname = "libcuda.so.1";
    cuda.path = base::format("{}/{}", root(), at_home("libm.so.6"));
    model::DriverFile known = cuda;
    known.path = "/elsewhere/libx.so";
    known.versions = {{"libc.so.6", "GLIBC_2.5"}};
    driver_.files = {cuda, known};

    const auto found = find_host_runtime({&driver_, 1});

    ASSERT_TRUE(found) << found.error().message();
    const auto& needs = found->needs_of(cuda);
    EXPECT_TRUE(
        std::ranges::any_of(needs, [](const auto& need) { return need.library == "libc.so.6"; }));
    EXPECT_EQ(found->needs_of(known), known.versions);
}

} // namespace
} // namespace gpucontainer::search
