// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"
#include "elf_stub.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::Manner;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A driver with libcuda and libGLX_nvidia for 32-bit programs too, and an image that runs these.
class Compat32Test : public PlanTest {
protected:
    Compat32Test()
    {
        driver_.files[2].registrations.push_back({Manner::vulkan_icd, "nvidia_icd.json"});
        for (const std::size_t original : {std::size_t{0}, std::size_t{2}}) {
            DriverFile file = driver_.files[original];
            file.compat32 = true;
            file.path = "/drv/lib32/" + file.name;
            file.id.inode += 100;
            driver_.files.push_back(file);
        }
        request_.capabilities = "compute,compat32";
    }

    void SetUp() override
    {
        const elf::Machine* const machine = elf::compat32_of(elf::own_machine());
        if (machine == nullptr)
            GTEST_SKIP() << "this machine runs no 32-bit programs";
        loader_ = machine->loader;
        libraries32_ = rootfs::library_directories(*machine).front();
        root_.file(loader_);
        root_.file(libraries32_ + "/libc.so.6");
    }

    std::vector<std::string> in_lib32() const
    {
        auto all = items();
        std::erase_if(
            all, [](const std::string& text) { return text.find("lib32/") == std::string::npos; });
        return all;
    }

    /// What a program finds by the loader cache of the plan.
    std::string found(std::string_view soname, bool compat32) const
    {
        const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
        EXPECT_TRUE(cache) << cache.error().message();
        const auto entries =
            cache->lookup(soname, elf::machine_for(elf::own_machine(), compat32)->cache_flags);
        return entries.empty() ? "" : std::string(entries.front().value);
    }

    static std::string library(bool compat32)
    {
        const bool is_x86 = elf::own_machine().number == EM_X86_64;
        const auto bytes = simhost::make_elf_stub(
            {simhost::StubKind::library,
             compat32 ? "ELF32" : "ELF64",
             compat32 ? (is_x86 ? "Intel 80386" : "ARM")
                      : (is_x86 ? "Advanced Micro Devices X86-64" : "AArch64"),
             "libcuda.so.1",
             {},
             {}});
        EXPECT_TRUE(bytes) << bytes.error().message();
        return bytes ? *bytes : "";
    }

    std::string loader_;
    std::string libraries32_;
};

TEST_F(Compat32Test, HasLibrariesOfWhatWasAskedForBesides)
{
    EXPECT_THAT(
        in_lib32(),
        ElementsAre(
            "bind tree: /drv/lib32/libcuda.so.580.1 -> /usr/lib/gpuctr/lib32/"
            "libcuda.so.580.1 ro,nosuid,nodev",
            "symlink tree: libcuda.so.580.1 -> /usr/lib/gpuctr/lib32/libcuda.so.1",
            "symlink tree: libcuda.so.580.1 -> /usr/lib/gpuctr/lib32/libcuda.so",
            base::format("symlink created: /usr/lib/gpuctr/lib32/libcuda.so.1 -> "
                         "{}/libcuda.so.1",
                         libraries32_),
            base::format("symlink created: /usr/lib/gpuctr/lib32/libcuda.so -> {}/libcuda.so",
                         libraries32_)));
    EXPECT_EQ(found("libcuda.so.1", true), "/usr/lib/gpuctr/lib32/libcuda.so.1");
    EXPECT_EQ(found("libcuda.so.1", false), "/usr/lib/gpuctr/lib64/libcuda.so.1");
    EXPECT_EQ(item(ItemKind::file).as<GeneratedFile>()->content,
              "/usr/lib/gpuctr/lib64\n/usr/lib/gpuctr/lib32\n");
}

TEST_F(Compat32Test, HasNoneThatWereNotAskedFor)
{
    request_.capabilities = "compute";

    EXPECT_THAT(in_lib32(), IsEmpty());
    EXPECT_EQ(found("libcuda.so.1", true), "");
    EXPECT_THAT(skipped("libcuda.so.580.1"),
                ElementsAre("/drv/lib32/libcuda.so.580.1: is for 32-bit programs, and compat32 was "
                            "not asked for: library of a test"));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Compat32Test, IsPartOfAll)
{
    request_.capabilities = "all";

    EXPECT_EQ(found("libGLX_nvidia.so.0", true), "/usr/lib/gpuctr/lib32/libGLX_nvidia.so.0");
    EXPECT_THAT(items({ItemKind::file}),
                Contains("file created:  -> /etc/vulkan/icd.d/nvidia_icd.json"));
    EXPECT_THAT(skipped("nvidia_icd.json"), IsEmpty());
}

TEST_F(Compat32Test, BringsWhatA32BitLibraryNeedsAndNothingElse)
{
    DriverFile video = driver_.files[4];
    video.soname = "libnvcuvid.so.1";
    video.name = "libnvcuvid.so.580.1";
    video.capability = Capability::video;
    video.links = {video.soname};
    video.entry_names.clear();
    video.needed = {"libcuda.so.1"};
    driver_.files.push_back(video);
    request_.capabilities = "video,compat32";

    EXPECT_EQ(found("libnvcuvid.so.1", true), "/usr/lib/gpuctr/lib32/libnvcuvid.so.1");
    EXPECT_EQ(found("libcuda.so.1", true), "/usr/lib/gpuctr/lib32/libcuda.so.1");
    EXPECT_EQ(found("libcuda.so.1", false), "");
}

TEST_F(Compat32Test, SaysWhenTheImageRunsNo32BitPrograms)
{
    root_.remove(loader_);
    const std::string reason =
        base::format("the image runs no 32-bit programs: it has no {}", loader_);

    EXPECT_THAT(in_lib32(), IsEmpty());
    EXPECT_THAT(skipped("libcuda.so.580.1"), ElementsAre("/drv/lib32/libcuda.so.580.1: " + reason));
    EXPECT_THAT(warnings(), ElementsAre("32-bit libraries of NVIDIA: " + reason));

    request_.capabilities = "all";
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Compat32Test, SaysWhenTheHostHasNone)
{
    std::erase_if(driver_.files, [](const DriverFile& file) { return file.compat32; });

    EXPECT_THAT(warnings(), ElementsAre("32-bit libraries of NVIDIA: not found on this host"));
    request_.capabilities = "all";
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(Compat32Test, IsAllThatAnImageOf32BitProgramsGets)
{
    root_.remove(std::string(elf::own_machine().loader));
    request_.capabilities = "utility,graphics,compat32";

    EXPECT_EQ(found("libGLX_nvidia.so.0", true), "/usr/lib/gpuctr/lib32/libGLX_nvidia.so.0");
    EXPECT_EQ(found("libGLX_nvidia.so.0", false), "");
    EXPECT_THAT(items({ItemKind::file}),
                Contains("file created:  -> /etc/vulkan/icd.d/nvidia_icd.json"));
    EXPECT_THAT(skipped("nvidia-smi"),
                ElementsAre(HasSubstr("the image runs 32-bit programs alone: it has no ")));

    request_.capabilities = "utility,graphics";
    const auto plan = make();
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), Errc::rootfs);
    EXPECT_THAT(plan.error().hint(), HasSubstr("compat32"));
    request_.capabilities = "utility,compat32"; // for which there is no 32-bit library
    EXPECT_FALSE(make());
}

/// That of an image for older drivers is one for 64-bit programs.
TEST_F(Compat32Test, IsNoLibcudaThatTheImagesOwnReplaces)
{
    root_.remove(std::string(elf::own_machine().loader));
    const std::string compat = "/usr/local/cuda/compat";
    root_.directory(compat);
    root_.file(compat + "/libcuda.so.1", library(false));
    for (const Compat choice : {Compat::automatic, Compat::always}) {
        request_.compat = choice;
        EXPECT_EQ(found("libcuda.so.1", false), "");
        EXPECT_EQ(found("libcuda.so.1", true), "/usr/lib/gpuctr/lib32/libcuda.so.1");
        EXPECT_THAT(skipped(compat), IsEmpty());
        EXPECT_THAT(warnings(), IsEmpty());
    }
}

TEST_F(Compat32Test, CoversTheImagesCopyOfTheSameKindAlone)
{
    const std::string shared = "/usr/lib"; // of both kinds, in one distribution or the other
    root_.remove(libraries32_ + "/libc.so.6");
    root_.remove(libraries32_);
    root_.file(shared + "/libc.so.6");
    root_.file(shared + "/libcuda.so.1", library(true));
    const auto covers = [&] { return items({ItemKind::cover}); };

    EXPECT_THAT(covers(), ElementsAre("cover there: /drv/lib32/libcuda.so.580.1 -> "
                                      "/usr/lib/libcuda.so.1 ro,nosuid,nodev"));
    request_.capabilities = "compute";
    EXPECT_THAT(covers(), IsEmpty());

    request_.capabilities = "compute,compat32";
    root_.file(shared + "/libcuda.so.1", library(false));
    EXPECT_THAT(covers(), ElementsAre("cover there: /drv/lib/libcuda.so.580.1 -> "
                                      "/usr/lib/libcuda.so.1 ro,nosuid,nodev"));
    root_.file(shared + "/libcuda.so.1", "no library");
    EXPECT_THAT(covers(), ElementsAre(HasSubstr("/drv/lib/libcuda.so.580.1")));
}

TEST_F(Compat32Test, LandsInTheImagesDirectoryWithoutATree)
{
    request_.layout = Layout::merged;

    EXPECT_THAT(items({ItemKind::bind}),
                Contains(base::format("bind created: /drv/lib32/libcuda.so.580.1 -> "
                                      "{}/libcuda.so.580.1 ro,nosuid,nodev",
                                      libraries32_)));
    EXPECT_EQ(found("libcuda.so.1", true), libraries32_ + "/libcuda.so.1");
}

TEST_F(Compat32Test, IsShownWithoutARootToo)
{
    const auto plan = create_plan({&driver_, 1}, request_, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_THAT(plan->items, Contains(::testing::Field(&Item::target,
                                                       "/usr/lib/gpuctr/lib32/libcuda.so.580.1")));
}

TEST_F(PlanTest, HasDataBesideLibraries)
{
    DriverFile data;
    data.kind = model::FileKind::data;
    data.capability = Capability::ngx;
    data.name = "nvngx.dll";
    data.path = "/drv/lib/nvidia/wine/nvngx.dll";
    data.reason = "data of a test";
    data.registrations = {{Manner::beside_libraries, "nvidia/wine"}};
    data.id = {7, 40, 1, 1};
    driver_.files.push_back(data);
    request_.capabilities = "compute,ngx";

    EXPECT_THAT(items(), Contains("bind tree: /drv/lib/nvidia/wine/nvngx.dll -> "
                                  "/usr/lib/gpuctr/lib64/nvidia/wine/nvngx.dll ro,nosuid,nodev"));
    request_.layout = Layout::merged;
    const std::string merged = libraries_ + "/nvidia/wine/nvngx.dll";
    EXPECT_THAT(items({ItemKind::bind}), Contains(HasSubstr("-> " + merged)));
    root_.file(merged, "of another version");
    EXPECT_THAT(items({ItemKind::cover}), Contains(HasSubstr("-> " + merged)));
}

} // namespace
} // namespace gpucontainer::plan
