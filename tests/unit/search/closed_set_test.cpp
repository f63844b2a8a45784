// SPDX-License-Identifier: MIT
#include "search/closed_set.hpp"

#include "base/format.hpp"
#include "unit/drivers/driver_tree.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace gpucontainer::search {

using model::Capability;
using model::CatalogueRule;
using model::FileKind;
using model::Manner;

namespace {
using simhost::ElfStub;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

CatalogueRule library(std::string_view name, Capability capability = Capability::compute)
{
    return {FileKind::library, capability, Capability::none, name, false, false, "a library"};
}

CatalogueRule tool(std::string_view name)
{
    return {FileKind::tool, Capability::utility, Capability::none, name, false, false, "a tool"};
}

/// User space in a tree that a test builds.
class ClosedSetTest : public ::testing::Test {
protected:
    /// A library of this soname and file name.
    void install(const std::string& directory, const std::string& soname,
                 std::vector<std::string> needed = {}, const std::string& runpath = "",
                 const std::string& rpath = "")
    {
        ElfStub stub;
        stub.soname = soname;
        stub.needed = std::move(needed);
        stub.runpath = runpath;
        stub.rpath = rpath;
        tree_.elf(base::format("{}/{}", directory, soname), stub);
    }

    ClosedSet find(const std::vector<CatalogueRule>& rules)
    {
        const auto root = tree_.open_driver();
        auto set = find_closed_set(root, rules, directories_);
        EXPECT_TRUE(set) << set.error().message();
        return set ? *std::move(set) : ClosedSet();
    }

    /// Paths of all files, those of neutral ones in brackets.
    std::vector<std::string> found(const std::vector<CatalogueRule>& rules)
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : find(rules).files) {
            const std::string path = file.path.substr(tree_.prefix().size());
            all.push_back(file.precedence == model::Precedence::image ? base::format("[{}]", path)
                                                                      : path);
        }
        return all;
    }

    std::vector<std::string> skipped(const std::vector<CatalogueRule>& rules)
    {
        std::vector<std::string> all;
        for (const model::Finding& one : find(rules).findings) {
            std::string text = base::format("{}: {}", one.object, one.text);
            for (std::size_t at = 0; (at = text.find(tree_.prefix())) != std::string::npos;)
                text.erase(at, tree_.prefix().size());
            all.push_back(std::move(text));
        }
        return all;
    }

    model::DriverFile file(const std::vector<CatalogueRule>& rules, std::string_view soname)
    {
        for (const model::DriverFile& file : find(rules).files)
            if (file.soname == soname || file.name == soname)
                return file;
        ADD_FAILURE() << "no " << soname;
        return {};
    }

    test::DriverTree tree_;
    std::vector<std::string> directories_ = {"/opt/rocm/lib", "/opt/rocm-*/lib"};
};

TEST_F(ClosedSetTest, IsEmptyWhereNothingIsInstalled)
{
    CatalogueRule entry = library("libhip.so.6");
    entry.entry = true;

    EXPECT_THAT(found({entry}), IsEmpty());
    EXPECT_THAT(skipped({entry}), ElementsAre("libhip.so.6: not installed"));
    EXPECT_EQ(find({entry}).library_directory, "");
}

TEST_F(ClosedSetTest, HasWhatItsLibrariesNeed)
{
    install("opt/rocm/lib", "libhip.so.6", {"libhsa.so.1", "libstdc++.so.6", "libc.so.6"},
            "$ORIGIN");
    install("opt/rocm/lib", "libhsa.so.1", {"libdrm.so.2", "libpthread.so.0"});
    install("usr/lib64", "libdrm.so.2", {"libm.so.6"});
    install("usr/lib64", "libstdc++.so.6", {"libgcc_s.so.1", "ld-linux-x86-64.so.2"});
    install("usr/lib64", "libgcc_s.so.1");
    install("usr/lib64", "libc.so.6");
    install("usr/lib64", "libm.so.6");
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"),
                                              library("libhsa.so.1", Capability::utility)};

    EXPECT_THAT(found(rules), ElementsAre("[/usr/lib64/libdrm.so.2]", "[/usr/lib64/libgcc_s.so.1]",
                                          "/opt/rocm/lib/libhip.so.6", "/opt/rocm/lib/libhsa.so.1",
                                          "[/usr/lib64/libstdc++.so.6]"));
    EXPECT_THAT(skipped(rules), IsEmpty());
    EXPECT_THAT(file(rules, "libhip.so.6").needed, ElementsAre("libhsa.so.1", "libstdc++.so.6"));
    EXPECT_EQ(file(rules, "libhsa.so.1").capability, Capability::utility);
    EXPECT_EQ(file(rules, "libstdc++.so.6").reason, "needed by libhip.so.6");
    EXPECT_EQ(find(rules).library_directory, tree_.prefix() + "/opt/rocm/lib");
}

TEST_F(ClosedSetTest, TakesANeedFromRpathBeforeTheCacheAndTheDirectories)
{
    install("opt/rocm/lib", "libhip.so.6", {"libelf.so.1"}, "", "$ORIGIN/private");
    install("opt/rocm/lib/private", "libelf.so.1");
    install("opt/cached", "libelf.so.1");
    install("usr/lib64", "libelf.so.1");
    tree_.remember("libelf.so.1", "/opt/cached/libelf.so.1");

    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("/opt/rocm/lib/private/libelf.so.1", "/opt/rocm/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, InheritsAnRpathAndNoRunpath)
{
    install("opt/rocm/lib", "libhip.so.6", {"libmid.so.1"}, "", "/opt/private");
    install("opt/private", "libmid.so.1", {"libend.so.1"});
    install("opt/private", "libend.so.1");
    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("[/opt/private/libend.so.1]", "/opt/rocm/lib/libhip.so.6",
                            "[/opt/private/libmid.so.1]"));

    install("usr/lib64", "libend.so.1");
    install("opt/rocm/lib", "libhip.so.6", {"libmid.so.1"}, "/opt/private");
    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("[/usr/lib64/libend.so.1]", "/opt/rocm/lib/libhip.so.6",
                            "[/opt/private/libmid.so.1]"));
}

TEST_F(ClosedSetTest, ForgetsAnRpathBesideARunpath)
{
    install("opt/rocm/lib", "libhip.so.6", {"libelf.so.1"}, "/opt/new", "/opt/old");
    install("opt/old", "libelf.so.1");
    install("opt/new", "libelf.so.1");

    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("[/opt/new/libelf.so.1]", "/opt/rocm/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, ExpandsOriginLibAndPlatform)
{
    install("opt/rocm/lib", "libhip.so.6", {"liba.so.1", "libb.so.1"},
            "${ORIGIN}/../$LIB/x:/opt/$PLATFORM:relative");
    install("opt/rocm/lib64/x", "liba.so.1");
#if defined(__x86_64__)
    install("opt/x86_64", "libb.so.1");
#else
    install("opt/aarch64", "libb.so.1");
#endif

    EXPECT_EQ(found({library("libhip.so.6")}).size(), 3U);
}

TEST_F(ClosedSetTest, TakesEachSonameOnce)
{
    install("opt/rocm/lib", "libhip.so.6", {"liba.so.1", "libb.so.1"}, "$ORIGIN");
    install("opt/rocm/lib", "liba.so.1", {"libelf.so.1"}, "/opt/one");
    install("opt/rocm/lib", "libb.so.1", {"libelf.so.1"}, "/opt/other");
    install("opt/one", "libelf.so.1");
    install("opt/other", "libelf.so.1");

    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("[/opt/rocm/lib/liba.so.1]", "[/opt/rocm/lib/libb.so.1]",
                            "[/opt/one/libelf.so.1]", "/opt/rocm/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, EndsWhereLibrariesNeedEachOther)
{
    install("opt/rocm/lib", "liba.so.1", {"libb.so.1"}, "$ORIGIN");
    install("opt/rocm/lib", "libb.so.1", {"liba.so.1", "libb.so.1"}, "$ORIGIN");

    EXPECT_THAT(found({library("liba.so.1")}),
                ElementsAre("/opt/rocm/lib/liba.so.1", "[/opt/rocm/lib/libb.so.1]"));
}

TEST_F(ClosedSetTest, LeavesOutWhatLacksSomethingAndWhatNeedsThat)
{
    install("opt/rocm/lib", "libhip.so.6", {"libmid.so.1"}, "$ORIGIN");
    install("opt/rocm/lib", "libmid.so.1", {"libgone.so.1", "libonly.so.1", "libhip.so.6"},
            "$ORIGIN");
    install("opt/rocm/lib", "libonly.so.1");
    install("opt/rocm/lib", "libsmi.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"), library("libsmi.so.1")};

    EXPECT_THAT(found(rules), ElementsAre("/opt/rocm/lib/libsmi.so.1"));
    EXPECT_THAT(skipped(rules),
                UnorderedElementsAre("libhip.so.6: needs libmid.so.1, which is left out",
                                     "libmid.so.1: needs libgone.so.1, which is not there"));
}

TEST_F(ClosedSetTest, HasNothingOfAnotherMachine)
{
    tree_.of_this_machine();
    tree_.library("usr/lib64/libelf.so.1", "libelf.so.1", test::foreign_machine);
    install("opt/rocm/lib", "libhip.so.6", {"libelf.so.1"});
    tree_.library("opt/rocm/lib/libsmi.so.1", "libsmi.so.1", test::foreign_machine);
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"), library("libsmi.so.1")};
    EXPECT_THAT(found(rules), IsEmpty());
    EXPECT_THAT(skipped(rules),
                ElementsAre(HasSubstr("needs libelf.so.1, but /usr/lib64/libelf"),
                            HasSubstr("libelf.so.1: is for"), HasSubstr("libsmi.so.1: is for")));
}

TEST_F(ClosedSetTest, LooksFurtherThanAFileOfAnotherMachine)
{
    install("opt/rocm/lib", "libhip.so.6", {"libelf.so.1"}, "/opt/other");
    tree_.library("opt/other/libelf.so.1", "libelf.so.1", test::foreign_machine);
    install("usr/lib64", "libelf.so.1");

    EXPECT_THAT(found({library("libhip.so.6")}),
                ElementsAre("[/usr/lib64/libelf.so.1]", "/opt/rocm/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, IsOfOneInstallation)
{
    install("opt/rocm-6.4/lib", "libhip.so.6", {"libhsa.so.1"});
    install("opt/rocm-6.4/lib", "libhsa.so.1");
    install("opt/rocm-5.7/lib", "libhsa.so.1");
    install("opt/rocm-5.7/lib", "libsmi.so.5");
    tree_.remember("libhsa.so.1", "/opt/rocm-5.7/lib/libhsa.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"), library("libhsa.so.1"),
                                              library("libsmi.so.5")};

    EXPECT_THAT(found(rules),
                ElementsAre("/opt/rocm-6.4/lib/libhip.so.6", "/opt/rocm-6.4/lib/libhsa.so.1"));
    EXPECT_THAT(skipped(rules),
                ElementsAre("libsmi.so.5: belongs to the installation /opt/rocm-5.7; the one in "
                            "use is /opt/rocm-6.4"));
}

TEST_F(ClosedSetTest, IsOfTheInstallationThatTheLinkLeadsTo)
{
    install("opt/rocm-6.4/lib", "libhip.so.6");
    install("opt/rocm-7.0/lib", "libhip.so.6");
    EXPECT_THAT(found({library("libhip.so.6")}), ElementsAre("/opt/rocm-7.0/lib/libhip.so.6"));

    tree_.link("opt/rocm", "rocm-6.4");
    EXPECT_THAT(found({library("libhip.so.6")}), ElementsAre("/opt/rocm-6.4/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, DoesNotMixADistributionsOwnWithAnother)
{
    install("usr/lib64", "libhsa.so.1");
    tree_.remember("libhsa.so.1", "/usr/lib64/libhsa.so.1");
    install("opt/rocm/lib", "libhip.so.6", {"libhsa.so.1"});
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"), library("libhsa.so.1")};

    EXPECT_THAT(found(rules), IsEmpty());
    EXPECT_THAT(skipped(rules), ElementsAre(HasSubstr("belongs to the installation /usr"),
                                            HasSubstr("belongs to the installation /usr")));
}

TEST_F(ClosedSetTest, HasAllVersionsWhereTheNameHasNone)
{
    install("opt/rocm/lib", "libhip.so.6.4");
    install("opt/rocm/lib", "libhip.so.5.7");
    install("opt/rocm/lib", "libhipother.so.1");

    EXPECT_THAT(found({library("libhip.so")}),
                ElementsAre("/opt/rocm/lib/libhip.so.5.7", "/opt/rocm/lib/libhip.so.6.4"));
}

TEST_F(ClosedSetTest, HasTheNamesThatAFileIsKnownBy)
{
    ElfStub stub;
    stub.soname = "libhip.so.6";
    tree_.elf("opt/rocm/lib/libhip.so.6.4.6", stub);
    tree_.link("opt/rocm/lib/libhip.so.6", "libhip.so.6.4.6");
    tree_.link("opt/rocm/lib/libhip.so", "libhip.so.6");
    const std::vector<CatalogueRule> rules = {library("libhip.so")};

    EXPECT_EQ(file(rules, "libhip.so.6").name, "libhip.so.6.4.6");
    EXPECT_THAT(file(rules, "libhip.so.6").links, ElementsAre("libhip.so.6", "libhip.so"));
}

TEST_F(ClosedSetTest, FindsWhatOnlyTheLoaderKnows)
{
    install("srv/compute", "libze.so.1", {"libzedep.so.1"});
    install("srv/compute", "libzedep.so.1");
    tree_.remember("libze.so.1", "/srv/compute/libze.so.1");
    tree_.remember("libzedep.so.1", "/srv/compute/libzedep.so.1");

    EXPECT_THAT(found({library("libze.so")}),
                ElementsAre("/srv/compute/libze.so.1", "[/srv/compute/libzedep.so.1]"));
    EXPECT_THAT(found({library("libze.so.1")}),
                ElementsAre("/srv/compute/libze.so.1", "[/srv/compute/libzedep.so.1]"));
}

TEST_F(ClosedSetTest, SaysWhichSymbolVersionsItNeedsOfOthers)
{
    ElfStub stub;
    stub.soname = "libhip.so.6";
    stub.needed = {"libc.so.6", "libstdc++.so.6", "libhsa.so.1"};
    stub.versions = {"GLIBC_2.2.5",   "GLIBC_2.38",    "GLIBC_2.4",      "GLIBC_ABI_DT_RELR",
                     "GLIBC_PRIVATE", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.9"};
    stub.strict = true;
    tree_.elf("opt/rocm/lib/libhip.so.6", stub);
    install("opt/rocm/lib", "libhsa.so.1");
    install("usr/lib64", "libstdc++.so.6");
    const std::vector<CatalogueRule> rules = {library("libhip.so.6"), library("libhsa.so.1")};

    EXPECT_THAT(file(rules, "libhip.so.6").versions,
                UnorderedElementsAre(model::VersionNeed{"libc.so.6", "GLIBC_2.38"},
                                     model::VersionNeed{"libc.so.6", "GLIBC_ABI_DT_RELR"},
                                     model::VersionNeed{"libstdc++.so.6", "GLIBCXX_3.4.30"},
                                     model::VersionNeed{"libstdc++.so.6", "CXXABI_1.3.9"}));
}

TEST_F(ClosedSetTest, HasToolsWithWhatTheyNeed)
{
    install("opt/rocm-6.4/lib", "libhsa.so.1");
    ElfStub info;
    info.kind = simhost::StubKind::executable;
    info.needed = {"libhsa.so.1", "libpci.so.3"};
    info.runpath = "$ORIGIN/../lib";
    tree_.elf("opt/rocm-6.4/bin/rocminfo", info);
    install("usr/lib64", "libpci.so.3");
    tree_.file("opt/rocm-6.4/bin/rocm-smi", "#!/usr/bin/python3\n");
    const std::vector<CatalogueRule> rules = {library("libhsa.so.1"), tool("rocminfo"),
                                              tool("rocm-smi")};

    EXPECT_THAT(found(rules),
                ElementsAre("/opt/rocm-6.4/lib/libhsa.so.1", "[/usr/lib64/libpci.so.3]",
                            "/opt/rocm-6.4/bin/rocminfo"));
    EXPECT_THAT(skipped(rules), ElementsAre("rocm-smi: is not an ELF program"));
    EXPECT_THAT(file(rules, "rocminfo").entry_names, ElementsAre("rocminfo"));
    EXPECT_THAT(file(rules, "rocminfo").needed, ElementsAre("libhsa.so.1", "libpci.so.3"));
}

CatalogueRule data(std::string_view path)
{
    return {FileKind::data, Capability::utility, Capability::none, path, false, false, "data"};
}

TEST_F(ClosedSetTest, HasScriptsInDirectoriesThatComeAlong)
{
    install("opt/rocm-6.4/lib", "libhsa.so.1");
    tree_.file("opt/rocm-6.4/libexec/smi/smi.py", "#!/usr/bin/env python3\nimport this\n");
    tree_.directory("opt/rocm-6.4/bin");
    tree_.link("opt/rocm-6.4/bin/rocm-smi", "../libexec/smi/smi.py");
    tree_.link("opt/rocm", "rocm-6.4");
    const std::vector<CatalogueRule> rules = {library("libhsa.so.1"), tool("rocm-smi"),
                                              data("/opt/rocm/libexec/smi")};

    EXPECT_THAT(found(rules),
                ElementsAre("/opt/rocm-6.4/lib/libhsa.so.1", "/opt/rocm-6.4/libexec/smi/smi.py",
                            "/opt/rocm-6.4/libexec/smi"));
    EXPECT_EQ(*file(rules, "rocm-smi").registered(Manner::script), "python3");
    EXPECT_THAT(file(rules, "rocm-smi").entry_names, ElementsAre("rocm-smi"));
    EXPECT_THAT(skipped({library("libhsa.so.1"), tool("rocm-smi")}),
                ElementsAre("rocm-smi: is not an ELF program"));
}

TEST_F(ClosedSetTest, KnowsWhatRunsAScript)
{
    install("opt/rocm-6.4/lib", "libhsa.so.1");
    const std::vector<CatalogueRule> rules = {library("libhsa.so.1"), tool("smi"),
                                              data("/opt/rocm-6.4/bin")};
    const auto interpreter = [&](const std::string& text) {
        tree_.file("opt/rocm-6.4/bin/smi", text);
        const ClosedSet set = find(rules);
        const auto script = std::ranges::find(set.files, "smi", &model::DriverFile::name);
        return script == set.files.end() ? "none" : *script->registered(Manner::script);
    };
    EXPECT_EQ(interpreter("#!/usr/bin/python3\n"), "/usr/bin/python3");
    EXPECT_EQ(interpreter("#! /usr/bin/python3 -s\n"), "/usr/bin/python3");
    EXPECT_EQ(interpreter("#!/usr/bin/env  perl\n"), "perl");
    for (const char* const text : {"", "#!", "#!\n", "#!/usr/bin/python3", "#!python3\n",
                                   "#!/usr/bin/env\n", "#!/usr/bin/env -S python3\n",
                                   "#!/usr/bin/env A=b python3\n", "#!/bin/\x01\n", "import\n"})
        EXPECT_EQ(interpreter(text), "none") << text;
}

TEST_F(ClosedSetTest, HasDataOfThePathsThatLibrariesReadThemAt)
{
    install("opt/rocm-6.4/lib", "libhsa.so.1");
    tree_.file("usr/share/libdrm/amdgpu.ids", "ids");
    tree_.file("opt/rocm-6.4/amdgcn/bitcode/ocml.bc", "code");
    tree_.link("opt/rocm", "rocm-6.4");
    const auto data = [](std::string_view path) {
        return CatalogueRule{
            FileKind::data, Capability::compute, Capability::none, path, false, false, "data"};
    };
    const std::vector<CatalogueRule> rules = {library("libhsa.so.1"),
                                              data("/usr/share/libdrm/amdgpu.ids"),
                                              data("/opt/rocm/amdgcn/bitcode"), data("/usr/no")};

    const model::DriverFile ids = file(rules, "amdgpu.ids");
    const model::DriverFile code = file(rules, "bitcode");

    EXPECT_EQ(*ids.registered(Manner::fixed_path), "/usr/share/libdrm/amdgpu.ids");
    EXPECT_FALSE(ids.directory);
    EXPECT_EQ(*code.registered(Manner::fixed_path), "/opt/rocm/amdgcn/bitcode");
    EXPECT_EQ(code.path, tree_.prefix() + "/opt/rocm-6.4/amdgcn/bitcode");
    EXPECT_TRUE(code.directory);
    EXPECT_THAT(skipped(rules), ElementsAre("no: not installed"));
}

TEST_F(ClosedSetTest, HasNoDataWithoutLibraries)
{
    tree_.file("usr/share/libdrm/amdgpu.ids", "ids");

    EXPECT_THAT(found({library("libhsa.so.1"),
                       {FileKind::data, Capability::compute, Capability::none,
                        "/usr/share/libdrm/amdgpu.ids", false, false, "data"}}),
                IsEmpty());
}

TEST_F(ClosedSetTest, CarriesWhatTheCatalogueSaysOfALibrary)
{
    install("opt/rocm/lib", "libamdocl64.so");
    CatalogueRule rule = library("libamdocl64.so");
    rule.icd = "amdocl64.icd";
    rule.own = true;
    rule.entry = true;

    const model::DriverFile ocl = file({rule}, "libamdocl64.so");

    EXPECT_EQ(*ocl.registered(Manner::opencl_icd), "amdocl64.icd");
    EXPECT_EQ(ocl.precedence, model::Precedence::runtime);
    EXPECT_THAT(ocl.entry_names, ElementsAre("libamdocl64.so"));
}

CatalogueRule module(const char* name)
{
    CatalogueRule rule = library(name, Capability::video);
    rule.module = "dri";
    rule.entry = true;
    return rule;
}

TEST_F(ClosedSetTest, KnowsAModuleByTheNameOfItsFile)
{
    install("usr/lib64", "libgallium_drv_video.so", {"libgmm.so.1"});
    install("usr/lib64", "libgmm.so.1");
    for (const char* const name : {"radeonsi_drv_video.so", "radeonsi_drv_video.so.bak"})
        tree_.link(std::string("usr/lib/dri/") + name, "../../lib64/libgallium_drv_video.so");
    directories_ = {"/usr/lib/dri"};

    const model::DriverFile driver =
        file({module("radeonsi_drv_video.so")}, "radeonsi_drv_video.so");

    EXPECT_EQ(driver.name, "libgallium_drv_video.so");
    EXPECT_EQ(*driver.registered(Manner::module_directory), "dri");
    EXPECT_THAT(driver.entry_names, ElementsAre("radeonsi_drv_video.so"));
    EXPECT_THAT(driver.needed, ElementsAre("libgmm.so.1"));
    EXPECT_THAT(found({module("radeonsi_drv_video.so")}),
                ElementsAre("/usr/lib64/libgallium_drv_video.so", "[/usr/lib64/libgmm.so.1]"));
}

TEST_F(ClosedSetTest, TakesAModuleOfTheSystemBesideAnyInstallation)
{
    install("opt/rocm/lib", "libhip.so.6");
    install("usr/lib/dri", "radeonsi_drv_video.so");
    install("opt/other/lib", "r600_drv_video.so");
    directories_.insert(directories_.end(), {"/usr/lib/dri", "/opt/other/lib"});

    EXPECT_THAT(found({module("radeonsi_drv_video.so"), library("libhip.so.6")}),
                ElementsAre("/opt/rocm/lib/libhip.so.6", "/usr/lib/dri/radeonsi_drv_video.so"));
    EXPECT_THAT(found({library("libhip.so.6"), module("r600_drv_video.so")}),
                ElementsAre("/opt/rocm/lib/libhip.so.6"));
}

TEST_F(ClosedSetTest, TakesWhatIsNeverWantedAsNeutralWhereItIsNeeded)
{
    install("opt/rocm/lib", "libhip.so.6", {"libOpenCL.so.1"});
    install("usr/lib64", "libOpenCL.so.1");

    EXPECT_THAT(found({library("libhip.so.6"), library("libOpenCL.so.1", Capability::none)}),
                ElementsAre("[/usr/lib64/libOpenCL.so.1]", "/opt/rocm/lib/libhip.so.6"));
}

} // namespace
} // namespace gpucontainer::search
