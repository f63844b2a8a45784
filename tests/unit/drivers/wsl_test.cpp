// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/wsl.hpp"

#include "drivers/amd/amd.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "elf/symbols.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"
#include "unit/drivers/driver_tree.hpp"
#include "unit/drivers/fake_enumerator.hpp"
#include "unit/elf/elf_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <string>

namespace gpucontainer::drivers {

using model::DriverStack;
using model::FileKind;

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* package = "usr/lib/wsl/drivers/nv_dispi.inf_amd64_1";
constexpr const char* libraries = "usr/lib/wsl/lib";

/// Linux under Windows, with what drivers a test gives it.
class Wsl : public ::testing::Test {
protected:
    Wsl()
    {
        system_.file("sys/class/misc/dxg/dev", "10:127\n");
        system_.file("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n");
        tree_.library(path(libraries, "libdxcore.so"), "libdxcore.so");
    }

    static std::string path(const std::string& directory, const std::string& name)
    {
        return base::format("{}/{}", directory, name);
    }

    void nvidia_package() { tree_.library(path(package, "libcuda.so.1.1"), "libcuda.so.1"); }

    Result<std::optional<DriverStack>>
    detected(Result<std::optional<DriverStack>> (*detect)(const Sources&))
    {
        const auto root = tree_.open_driver();
        return detect({devices_, root, system_.at("sys").parent_path().string(), "", {}, ""});
    }

    DriverStack nvidia()
    {
        auto stack = detected(nvidia::detect);
        EXPECT_TRUE(stack) << stack.error().message();
        return stack && *stack ? **std::move(stack) : DriverStack();
    }

    std::vector<std::string> paths(const DriverStack& stack, FileKind kind)
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : stack.files)
            if (file.kind == kind)
                all.push_back(file.path.substr(tree_.prefix().size()));
        return all;
    }

    test::TempRoot system_;
    test::DriverTree tree_;
    test::FakeEnumerator devices_;
};

TEST_F(Wsl, IsNotThereWithoutItsDevice)
{
    nvidia_package();
    std::filesystem::remove(system_.at("sys/class/misc/dxg/dev"));

    const auto stack = detected(nvidia::detect);

    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_FALSE(*stack);
}

TEST_F(Wsl, IsOfAnotherVendorWithoutAPackage)
{
    const auto stack = detected(nvidia::detect);

    ASSERT_TRUE(stack) << stack.error().message();
    EXPECT_FALSE(*stack);
}

TEST_F(Wsl, TakesWhatIsInTheLibraryDirectory)
{
    nvidia_package();
    tree_.library(path(libraries, "libcuda.so.1.1"), "libcuda.so.1");
    tree_.link(path(libraries, "libcuda.so.1"), "libcuda.so.1.1");
    tree_.library("usr/lib/libcuda.so.535.1", "libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib/libcuda.so.535.1");

    const DriverStack stack = nvidia();

    EXPECT_THAT(paths(stack, FileKind::library),
                ElementsAre("/usr/lib/wsl/lib/libcuda.so.1.1", "/usr/lib/wsl/lib/libdxcore.so"));
    EXPECT_THAT(paths(stack, FileKind::data),
                ElementsAre("/usr/lib/wsl/lib", std::string("/") + package));
}

TEST_F(Wsl, TakesThePackagesOwnLibraryInAContainer)
{
    nvidia_package();
    tree_.library("usr/lib/other/libcuda.so.1", "libcuda.so.1");
    tree_.remember("libcuda.so.1", "/usr/lib/other/libcuda.so.1");
    tree_.remember("libcuda.so.1", path(std::string("/") + package, "libcuda.so.1.1"));

    EXPECT_THAT(paths(nvidia(), FileKind::library),
                ElementsAre(path(std::string("/") + package, "libcuda.so.1.1"),
                            "/usr/lib/wsl/lib/libdxcore.so"));
}

TEST_F(Wsl, SaysWhatIsMissing)
{
    nvidia_package();

    const auto stack = detected(nvidia::detect);

    ASSERT_FALSE(stack);
    EXPECT_EQ(stack.error().code(), Errc::driver);
    EXPECT_THAT(stack.error().message(), HasSubstr("no libcuda.so.1 in /usr/lib/wsl/lib"));
    EXPECT_THAT(stack.error().hint(), HasSubstr("wsl --shutdown"));
}

TEST_F(Wsl, SaysWhyALibraryIsNotTaken)
{
    nvidia_package();
    tree_.library(path(libraries, "libcuda.so.1"), "libcuda.so.1", test::foreign_machine);

    const auto stack = detected(nvidia::detect);

    ASSERT_FALSE(stack);
    EXPECT_THAT(stack.error().message(), HasSubstr("/usr/lib/wsl/lib/libcuda.so.1 is for "));
}

TEST_F(Wsl, HasNoGpuWhereTheDeviceHasNoNumber)
{
    nvidia_package();
    tree_.library(path(libraries, "libcuda.so.1"), "libcuda.so.1");
    for (const char* number : {"", "10:", ":127", "10", "a:b", "10:99999999999999999999"}) {
        system_.file("sys/class/misc/dxg/dev", number);
        const DriverStack stack = nvidia();
        EXPECT_THAT(stack.nodes, IsEmpty()) << number;
        EXPECT_THAT(test::lines(stack.findings), Contains(HasSubstr("driver is not loaded")))
            << number;
    }
}

std::string bytes_of(const char* file)
{
    test::TempRoot copy;
    std::filesystem::copy_file(file, copy.at("file"));
    return copy.read("file");
}

TEST_F(Wsl, WarnsOfRocmOfTwoReleases)
{
    tree_.file("opt/rocm/lib/librocdxg.so.1", bytes_of(GPUCTR_WINDOWS_thunk));
    for (const bool same : {true, false}) {
        tree_.file("opt/rocm/lib/libhsa-runtime64.so.1",
                   bytes_of(same ? GPUCTR_WINDOWS_thunk : GPUCTR_WINDOWS_runtime));
        const auto stack = detected(amd::detect);
        ASSERT_TRUE(stack) << stack.error().message();
        ASSERT_TRUE(*stack);
        const auto warnings = test::warnings((*stack)->findings);
        EXPECT_EQ(warnings.size(), same ? 0U : 1U);
        EXPECT_THAT(warnings.empty() ? "" : warnings.front(),
                    HasSubstr(same ? "" : "needs hsaKmtCreateQueueV2"));
    }
}

TEST(Symbols, AreThoseThatBeginSo)
{
    const base::UniqueFd fd(::open(GPUCTR_WINDOWS_runtime, O_RDONLY | O_CLOEXEC));

    const auto symbols = elf::read_symbols(fd.get(), "hsaKmt");

    ASSERT_TRUE(symbols) << symbols.error().message();
    EXPECT_THAT(symbols->defined, IsEmpty());
    EXPECT_THAT(symbols->undefined, ElementsAre("hsaKmtCreateQueueV2", "hsaKmtOpenKFD"));
    EXPECT_THAT(elf::read_symbols(fd.get(), "use_")->defined, ElementsAre("use_calls"));
}

TEST(Symbols, AreThoseOfTheFirstTable)
{
    std::string bytes = bytes_of(GPUCTR_WINDOWS_thunk);
    Elf64_Ehdr header = {};
    std::memcpy(&header, bytes.data(), sizeof header);
    // The last section becomes one more table, of what are no symbols.
    Elf64_Shdr section = {};
    section.sh_type = SHT_DYNSYM;
    section.sh_size = sizeof header;
    section.sh_entsize = sizeof(Elf64_Sym);
    bytes.replace(header.e_shoff + (header.e_shnum - 1U) * sizeof section, sizeof section,
                  reinterpret_cast<const char*>(&section), sizeof section);
    const base::UniqueFd file = test::memory_file(bytes);

    const auto symbols = elf::read_symbols(file.get(), "hsaKmt");

    ASSERT_TRUE(symbols) << symbols.error().message();
    EXPECT_THAT(symbols->defined, ElementsAre("hsaKmtOpenKFD"));
}

} // namespace
} // namespace gpucontainer::drivers
