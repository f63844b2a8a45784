// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"
#include "elf/ld_cache_writer.hpp"
#include "elf_stub.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::FileKind;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

#if defined(__aarch64__)
constexpr const char* native_machine = "AArch64";
constexpr const char* foreign_machine = "Advanced Micro Devices X86-64";
#else
constexpr const char* native_machine = "Advanced Micro Devices X86-64";
constexpr const char* foreign_machine = "AArch64";
#endif

/// A library as an image has it.
std::string library_with(std::vector<std::string> versions, const char* machine = native_machine)
{
    simhost::ElfStub stub;
    stub.elf_class = "ELF64";
    stub.machine = machine;
    stub.definitions = std::move(versions);
    const auto bytes = simhost::make_elf_stub(stub);
    EXPECT_TRUE(bytes) << bytes.error().message();
    return bytes ? *bytes : "";
}

/// A driver whose files are of no particular kernel module: a runtime, on which a
/// language runtime is built, a tool of another capability, neutral libraries.
class OptionalFilesTest : public PlanTest {
protected:
    OptionalFilesTest()
    {
        using test::make_library;
        driver_.optional_files = true;
        driver_.vendor_name = "Acme";
        driver_.image_directories = {"/opt/acme/lib"};
        DriverFile hip = make_library("libhip.so.6", Capability::compute, 21);
        hip.needed = {"libhsa.so.1", "libstdc++.so.6"};
        hip.versions = {{"libc.so.6", "GLIBC_2.34"}, {"libstdc++.so.6", "GLIBCXX_3.4.30"}};
        DriverFile hsa = make_library("libhsa.so.1", Capability::compute, 22);
        hsa.needed = {"libelf.so.1"};
        hsa.precedence = model::Precedence::runtime;
        DriverFile smi = make_library("libsmi.so.1", Capability::utility, 23);
        smi.needed = {"libdrm.so.2"};
        driver_.files = {hip, hsa, smi};
        for (const char* soname : {"libdrm.so.2", "libelf.so.1", "libstdc++.so.6", "libz.so.1"}) {
            DriverFile neutral = make_library(soname, Capability::compute, next_inode_++);
            neutral.precedence = model::Precedence::image;
            driver_.files.push_back(neutral);
        }
        find("libelf.so.1").needed = {"libz.so.1"};
        root_.file(libraries_ + "/libc.so.6",
                   library_with({"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.36"}));
    }

    DriverFile& find(std::string_view soname)
    {
        return *std::find_if(driver_.files.begin(), driver_.files.end(),
                             [&](const DriverFile& file) { return file.soname == soname; });
    }

    void give_image(const std::string& soname, std::vector<std::string> versions = {})
    {
        root_.file(libraries_ + "/" + soname, library_with(std::move(versions)));
    }

    /// Sonames of what the plan takes.
    std::vector<std::string> taken() const
    {
        std::vector<std::string> sonames;
        for (const Item& item : made().items)
            for (const DriverFile& file : driver_.files)
                if (item.kind() == ItemKind::bind && item.source() == file.path)
                    sonames.push_back(file.soname.empty() ? file.name : file.soname);
        return sonames;
    }

    std::uint64_t next_inode_ = 30;
};

TEST_F(OptionalFilesTest, ComeWithAllThatTheyNeed)
{
    EXPECT_THAT(taken(), ElementsAre("libhip.so.6", "libhsa.so.1", "libsmi.so.1", "libdrm.so.2",
                                     "libelf.so.1", "libstdc++.so.6", "libz.so.1"));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(OptionalFilesTest, ComeWithNothingThatNoneOfThemNeeds)
{
    request_.capabilities = "utility";

    EXPECT_THAT(taken(), ElementsAre("libsmi.so.1", "libdrm.so.2"));
    EXPECT_THAT(skipped("libz.so.580.1"),
                ElementsAre("/drv/lib/libz.so.580.1: nothing that was asked for needs it"));
}

TEST_F(OptionalFilesTest, ComeWithAVendorsLibraryOfAnotherCapabilityWhereTheyNeedIt)
{
    request_.capabilities = "utility";
    find("libsmi.so.1").needed = {"libhsa.so.1"};

    EXPECT_THAT(taken(), ElementsAre("libhsa.so.1", "libsmi.so.1", "libelf.so.1", "libz.so.1"));
}

/// A part that a RUNPATH of libhip leads to, in a directory beside it.
class PartBesideLibrariesTest : public OptionalFilesTest {
protected:
    PartBesideLibrariesTest()
    {
        DriverFile part = test::make_library("libLLVM.so.22", Capability::compute, next_inode_++);
        part.registrations = {{model::Manner::beside_libraries, "llvm/lib"}};
        part.path = "/drv/lib/llvm/lib/libLLVM.so.580.1";
        driver_.files.push_back(part);
        find("libhip.so.6").needed.emplace_back("libLLVM.so.22");
    }

    std::vector<std::string> with_its_name() const
    {
        auto all = items();
        std::erase_if(
            all, [](const std::string& text) { return text.find("LLVM") == std::string::npos; });
        return all;
    }

    bool is_in_loader_cache(std::string_view soname) const
    {
        const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
        EXPECT_TRUE(cache) << cache.error().message();
        return !cache->lookup(soname, elf::own_machine().cache_flags).empty();
    }
};

TEST_F(PartBesideLibrariesTest, HasItsPlaceInTheTreeAndIsFoundThereAlone)
{
    give_image("libLLVM.so.22"); // another one

    EXPECT_THAT(with_its_name(),
                ElementsAre("bind tree: /drv/lib/llvm/lib/libLLVM.so.580.1 -> "
                            "/usr/lib/gpuctr/lib64/llvm/lib/libLLVM.so.580.1 ro,nosuid,nodev",
                            "symlink tree: libLLVM.so.580.1 -> "
                            "/usr/lib/gpuctr/lib64/llvm/lib/libLLVM.so.22"));
    EXPECT_FALSE(is_in_loader_cache("libLLVM.so.22"));
    EXPECT_TRUE(is_in_loader_cache("libhip.so.6"));
}

TEST_F(PartBesideLibrariesTest, IsInTheLoaderCacheIfSomethingFindsItBySoname)
{
    find("libLLVM.so.22").registrations.push_back({model::Manner::loader});

    EXPECT_TRUE(is_in_loader_cache("libLLVM.so.22"));
}

TEST_F(PartBesideLibrariesTest, ComesOnlyToWhatNeedsIt)
{
    find("libhip.so.6").needed.pop_back();

    EXPECT_THAT(with_its_name(), IsEmpty());
    EXPECT_THAT(skipped("libLLVM.so.580.1"), ElementsAre("/drv/lib/llvm/lib/libLLVM.so.580.1: "
                                                         "nothing that was asked for needs it"));
}

TEST_F(PartBesideLibrariesTest, IsAnotherOneThanTheDistributions)
{
    DriverFile neutral = test::make_library("libLLVM.so.22", Capability::compute, next_inode_++);
    neutral.precedence = model::Precedence::image;
    driver_.files.push_back(neutral);

    EXPECT_THAT(
        with_its_name(),
        IsSupersetOf({"bind tree: /drv/lib/llvm/lib/libLLVM.so.580.1 -> "
                      "/usr/lib/gpuctr/lib64/llvm/lib/libLLVM.so.580.1 ro,nosuid,nodev",
                      "bind tree: /drv/lib/libLLVM.so.580.1 -> "
                      "/usr/lib/gpuctr/distribution/lib64/libLLVM.so.580.1 ro,nosuid,nodev"}));
}

TEST_F(PartBesideLibrariesTest, HasItsPlaceBesideTheImagesLibrariesWithoutATree)
{
    request_.layout = Layout::merged;

    EXPECT_THAT(items({ItemKind::bind}),
                Contains(HasSubstr("-> " + libraries_ + "/llvm/lib/libLLVM.so.580.1")));
    EXPECT_THAT(items({ItemKind::symlink}),
                Contains(HasSubstr("-> " + libraries_ + "/llvm/lib/libLLVM.so.22")));
}

TEST_F(OptionalFilesTest, LeaveTheImagesNeutralLibrariesToIt)
{
    give_image("libelf.so.1");
    const elf::NewCacheEntry entry = {"libdrm.so.2", "/opt/drm/libdrm.so.2"};
    root_.file("/etc/ld.so.cache", elf::merge(nullptr, {entry})->bytes);
    root_.file("/opt/drm/libdrm.so.2", library_with({}));

    EXPECT_THAT(taken(),
                ElementsAre("libhip.so.6", "libhsa.so.1", "libsmi.so.1", "libstdc++.so.6"));
    EXPECT_THAT(skipped("libelf.so.580.1"),
                ElementsAre("/drv/lib/libelf.so.580.1: the image has its own: " + libraries_
                            + "/libelf.so.1"));
    EXPECT_THAT(items({ItemKind::cover}), IsEmpty());
}

TEST_F(OptionalFilesTest, DoNotTakeALibraryOfAnotherMachineForTheImagesOwn)
{
    root_.file("/usr/lib/libelf.so.1", library_with({}, foreign_machine));
    root_.file("/usr/lib/libdrm.so.2", "no library at all");
    root_.directory("/usr/lib/libstdc++.so.6");

    EXPECT_THAT(taken(), AllOf(Contains("libelf.so.1"), Contains("libdrm.so.2"),
                               Contains("libstdc++.so.6")));
}

TEST_F(OptionalFilesTest, AreTheSameOnARootThatHasThemAlready)
{
    const Plan first = made();
    set_up();
    std::vector<elf::NewCacheEntry> entries;
    std::vector<std::pair<std::string, std::string>> names;
    for (const DriverFile& file : driver_.files)
        names.emplace_back(file.soname, std::string(tree) + "/lib64/" + file.soname);
    for (const auto& [soname, path] : names)
        entries.push_back({soname, path});
    root_.file("/etc/ld.so.cache", elf::merge(nullptr, entries)->bytes);

    EXPECT_EQ(made().identity, first.identity);
}

TEST_F(OptionalFilesTest, AreLeftOutWhereTheImageBringsItsOwn)
{
    root_.file("/opt/acme/lib/libhsa.so.1", library_with({}));

    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(skipped("libhip.so.580.1"),
                ElementsAre("/drv/lib/libhip.so.580.1: the image brings its own: "
                            "/opt/acme/lib/libhsa.so.1"));
    EXPECT_THAT(warnings(), IsEmpty());
    EXPECT_THAT(items({ItemKind::mount, ItemKind::ldcache}), IsEmpty());
    EXPECT_THAT(items({ItemKind::device}), Not(IsEmpty()));
}

TEST_F(OptionalFilesTest, CoverTheImagesOwnWhereTheHostsWereAskedFor)
{
    root_.file("/opt/acme/lib/libhsa.so.1", library_with({}));
    request_.vendor_libs = VendorLibs::host;

    EXPECT_THAT(taken(), Contains("libhsa.so.1"));
    EXPECT_THAT(items({ItemKind::cover}),
                ElementsAre("cover there: /drv/lib/libhsa.so.580.1 -> /opt/acme/lib/libhsa.so.1 "
                            "ro,nosuid,nodev"));
}

TEST_F(OptionalFilesTest, AreLeftOutWhereTheImagesCLibraryIsTooOld)
{
    find("libhip.so.6").versions = {{"libc.so.6", "GLIBC_2.38"}};

    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(warnings(),
                ElementsAre("the host's Acme files: left out: libhip.so.6 needs GLIBC_2.38, but "
                            "the image's "
                            + libraries_ + "/libc.so.6 has nothing newer than GLIBC_2.36"));
    EXPECT_THAT(items({ItemKind::device}), Not(IsEmpty()));

    request_.vendor_libs = VendorLibs::host;
    EXPECT_EQ(problem(), "7 files of the Acme driver: libhip.so.6 needs GLIBC_2.38, but the "
                         "image's "
                             + libraries_ + "/libc.so.6 has nothing newer than GLIBC_2.36");
    request_.vendor_libs = VendorLibs::none;
    EXPECT_EQ(problem(), "no error");
}

TEST_F(OptionalFilesTest, NeedAVersionOfTheCLibraryThatItHasUnderAnotherLibrarysName)
{
    find("libhip.so.6").versions = {{"libc.so.6", "GLIBC_2.35"}};
    EXPECT_THAT(taken(), Contains("libhip.so.6"));

    find("libhip.so.6").versions = {{"libc.so.6", "GLIBC_ABI_DT_RELR"}};
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("GLIBC_ABI_DT_RELR, but the image's")));
}

TEST_F(OptionalFilesTest, AreLeftOutWhereAnImagesNeutralLibraryIsTooOld)
{
    give_image("libstdc++.so.6", {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28"});
    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("has nothing newer than GLIBCXX_3.4.28")));

    give_image("libstdc++.so.6", {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.30"});
    EXPECT_THAT(taken(), Contains("libhip.so.6"));

    give_image("libstdc++.so.6", {"libstdc++.so.6"});
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("has no such version")));
}

TEST_F(OptionalFilesTest, AreLeftOutWhereTheImageHasNoPlaceForThem)
{
    root_ = test::FakeView();
    root_.directory("/dev");
    root_.file("/lib/ld-musl-x86_64.so.1");

    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("its programs use musl")));

    request_.vendor_libs = VendorLibs::host;
    EXPECT_THAT(problem(), HasSubstr("5 files of the Acme driver: no "));
}

/// With a video driver, which is a part of its own.
class PartsTest : public OptionalFilesTest {
protected:
    PartsTest()
    {
        DriverFile video = test::make_library("acme_drv_video.so.1", Capability::video, 60);
        video.precedence = model::Precedence::runtime;
        video.needed = {"libdrm.so.2", "libstdc++.so.6"};
        driver_.files.push_back(video);
        request_.capabilities = "compute,utility,video";
    }
};

TEST_F(PartsTest, ComeTogetherWhereTheImageHasNeither)
{
    EXPECT_THAT(taken(), AllOf(Contains("libhip.so.6"), Contains("acme_drv_video.so.1"),
                               Contains("libdrm.so.2"), Contains("libstdc++.so.6")));
    EXPECT_THAT(skipped("libdrm.so.580.1"), IsEmpty());
}

TEST_F(PartsTest, ComputeWhereTheImageBringsItsOwnVideoDriver)
{
    give_image("acme_drv_video.so.1");

    EXPECT_THAT(taken(), AllOf(Contains("libhip.so.6"), Contains("libsmi.so.1"),
                               Not(Contains("acme_drv_video.so.1"))));
    EXPECT_THAT(skipped("acme_drv_video.so.580.1"),
                ElementsAre(HasSubstr("the image brings its own: ")));
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(PartsTest, GiveVideoWhereTheImageBringsItsOwnRuntime)
{
    root_.file("/opt/acme/lib/libhsa.so.1", library_with({}));

    EXPECT_THAT(taken(), ElementsAre("libdrm.so.2", "libstdc++.so.6", "acme_drv_video.so.1"));
    EXPECT_THAT(skipped("libhip.so.580.1"), ElementsAre(HasSubstr("the image brings its own: ")));
}

TEST_F(PartsTest, ComputeWhereTheImageIsTooOldForVideo)
{
    find("acme_drv_video.so.1").versions = {{"libc.so.6", "GLIBC_2.38"}};

    EXPECT_THAT(taken(), AllOf(Contains("libhip.so.6"), Not(Contains("acme_drv_video.so.1"))));
    EXPECT_THAT(skipped("acme_drv_video.so.580.1"), ElementsAre(HasSubstr("needs GLIBC_2.38")));
    EXPECT_THAT(warnings(), IsEmpty());

    request_.capabilities = "video";
    EXPECT_THAT(taken(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("needs GLIBC_2.38")));
    request_.vendor_libs = VendorLibs::host;
    EXPECT_THAT(problem(), HasSubstr("7 files of the Acme driver: "));
}

/// With data beside the libraries.
class DataTest : public OptionalFilesTest {
protected:
    DataTest()
    {
        DriverFile ids;
        ids.kind = FileKind::data;
        ids.capability = Capability::compute;
        ids.name = "acme.ids";
        ids.path = "/drv/share/acme.ids";
        ids.registrations = {{model::Manner::fixed_path, "/usr/share/acme/acme.ids"}};
        ids.id = {7, 50, 1, 1};
        ids.reason = "names";
        DriverFile code = ids;
        code.name = "bitcode";
        code.path = "/drv/bitcode";
        code.registrations = {{model::Manner::fixed_path, "/opt/acme/bitcode"}};
        code.id = {7, 51, 1, 1};
        code.directory = true;
        driver_.files.push_back(ids);
        driver_.files.push_back(code);
    }

    static bool is_directory(const Item& item)
    {
        const auto* const bind = item.as<Bind>();
        return bind != nullptr && bind->is_directory;
    }

    std::vector<std::string> about_data() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (const std::string line = text(item); line.find("acme.ids") != std::string::npos
                                                     || line.find("bitcode") != std::string::npos)
                all.push_back(line + (is_directory(item) ? " as directory" : ""));
        return all;
    }
};

TEST_F(DataTest, LiesInTheTreeAndIsLinkedWhereLibrariesReadIt)
{
    EXPECT_THAT(about_data(),
                ElementsAre("bind tree: /drv/share/acme.ids -> /usr/lib/gpuctr/share/acme/acme.ids "
                            "ro,nosuid,nodev",
                            "bind tree: /drv/bitcode -> /usr/lib/gpuctr/share/opt/acme/bitcode "
                            "ro,nosuid,nodev as directory",
                            "symlink created: /usr/lib/gpuctr/share/acme/acme.ids -> "
                            "/usr/share/acme/acme.ids",
                            "symlink created: /usr/lib/gpuctr/share/opt/acme/bitcode -> "
                            "/opt/acme/bitcode"));
}

TEST_F(DataTest, StaysTheImagesWhereItHasSome)
{
    root_.file("/usr/share/acme/acme.ids");
    root_.file("/opt/acme", "in the way");

    EXPECT_THAT(about_data(), IsEmpty());
    EXPECT_THAT(skipped("acme.ids"), ElementsAre(HasSubstr("the image has its own")));
    EXPECT_THAT(skipped("bitcode"), ElementsAre(HasSubstr("the image has something else")));
}

TEST_F(DataTest, IsTheSameOnARootThatHasItAlready)
{
    const std::string identity = made().identity;
    root_.link("/usr/share/acme/acme.ids", "/usr/lib/gpuctr/share/acme/acme.ids");
    root_.link("/opt/acme/bitcode", "/usr/lib/gpuctr/share/opt/acme/bitcode");

    EXPECT_EQ(made().identity, identity);
    EXPECT_EQ(about_data().size(), 2U);
}

TEST_F(DataTest, IsMountedWhereLibrariesReadItWithoutATree)
{
    request_.layout = Layout::merged;

    EXPECT_THAT(about_data(),
                ElementsAre("bind created: /drv/share/acme.ids -> /usr/share/acme/acme.ids "
                            "ro,nosuid,nodev",
                            "directory created:  -> /opt/acme/bitcode",
                            "bind there: /drv/bitcode -> /opt/acme/bitcode ro,nosuid,nodev as "
                            "directory"));
}

TEST_F(DataTest, HasItsNameInAnOverlayWhereNothingIsWritten)
{
    request_.write = Write::never;
    root_.directory("/usr/share");
    root_.directory("/opt/other");

    EXPECT_THAT(about_data(), Contains("symlink overlay: /usr/lib/gpuctr/share/acme/acme.ids -> "
                                       "/usr/share/acme/acme.ids"));
}

} // namespace
} // namespace gpucontainer::plan
