// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "search/closed_set.hpp"
#include "unit/drivers/driver_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::search {
namespace {

using model::Capability;
using model::CatalogueRule;
using model::DriverFile;
using model::FileKind;
using model::Manner;
using simhost::ElfStub;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

CatalogueRule library(std::string_view name)
{
    return {FileKind::library, Capability::compute, Capability::none, name, false, false,
            "a library"};
}

/// Where programs look for a library beside the others; "" if it is found by its soname.
std::string place_of(const DriverFile& file)
{
    const std::string* const place = file.registered(Manner::beside_libraries);
    return place != nullptr ? *place : "";
}

/// User space with directories below that of its libraries.
class LibraryPlacesTest : public ::testing::Test {
protected:
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

    std::vector<DriverFile> files(const std::vector<CatalogueRule>& rules)
    {
        const std::vector<std::string> directories = {"/opt/rocm/lib", "/opt/rocm-*/lib"};
        auto set = find_closed_set(tree_.open_driver(), rules, directories);
        EXPECT_TRUE(set) << set.error().message();
        return set ? std::move(set->files) : std::vector<DriverFile>();
    }

    /// Paths of all files, those of neutral ones in brackets.
    std::vector<std::string> found(const std::vector<CatalogueRule>& rules)
    {
        std::vector<std::string> all;
        for (const DriverFile& file : files(rules)) {
            const std::string path = file.path.substr(tree_.prefix().size());
            all.push_back(file.precedence == model::Precedence::image ? base::format("[{}]", path)
                                                                      : path);
        }
        return all;
    }

    DriverFile file(const std::vector<CatalogueRule>& rules, std::string_view soname)
    {
        for (const DriverFile& file : files(rules))
            if (file.soname == soname)
                return file;
        ADD_FAILURE() << "no " << soname;
        return {};
    }

    test::DriverTree tree_;
};

TEST_F(LibraryPlacesTest, KeepsThePlacesToWhichARunpathLeadsFromItsFile)
{
    const std::string core = "opt/rocm-7.14/lib";
    install(core, "libhip.so.7", {"libcomgr.so.3", "libsys_z.so.1"},
            "$ORIGIN:$ORIGIN/sys/lib:${ORIGIN}/llvm/lib");
    install(core, "libcomgr.so.3", {"libLLVM.so.22"}, "$ORIGIN/llvm/lib");
    install(core + "/llvm/lib", "libLLVM.so.22", {"libsys_z.so.1"}, "$ORIGIN/../../sys/lib");
    install(core + "/sys/lib", "libsys_z.so.1", {"libsys_elf.so.1"}, "$ORIGIN");
    install(core + "/sys/lib", "libsys_elf.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.7"), library("libcomgr.so.3")};

    EXPECT_THAT(found(rules),
                ElementsAre("/" + core + "/llvm/lib/libLLVM.so.22", "/" + core + "/libcomgr.so.3",
                            "/" + core + "/libhip.so.7", "/" + core + "/sys/lib/libsys_elf.so.1",
                            "/" + core + "/sys/lib/libsys_z.so.1"));
    EXPECT_EQ(place_of(file(rules, "libhip.so.7")), "");
    EXPECT_EQ(place_of(file(rules, "libLLVM.so.22")), "llvm/lib");
    EXPECT_EQ(place_of(file(rules, "libsys_z.so.1")), "sys/lib");
    EXPECT_EQ(place_of(file(rules, "libsys_elf.so.1")), "sys/lib");
    EXPECT_EQ(file(rules, "libsys_elf.so.1").registered(Manner::loader), nullptr);
    EXPECT_EQ(file(rules, "libsys_elf.so.1").reason, "needed by libsys_z.so.1");
    EXPECT_THAT(file(rules, "libLLVM.so.22").needed, ElementsAre("libsys_z.so.1"));
}

TEST_F(LibraryPlacesTest, TellsALibraryWithAPlaceFromTheDistributionsOfItsSoname)
{
    install("opt/rocm/lib", "libcomgr.so.3", {"libLLVM.so.19"}, "$ORIGIN/llvm/lib");
    install("opt/rocm/lib/llvm/lib", "libLLVM.so.19");
    install("usr/lib64", "libva.so.2", {"libLLVM.so.19"});
    install("usr/lib64", "libLLVM.so.19");
    CatalogueRule module = library("libva.so.2");
    module.module = "dri";

    EXPECT_THAT(found({library("libcomgr.so.3"), module}),
                UnorderedElementsAre("/opt/rocm/lib/libcomgr.so.3",
                                     "/opt/rocm/lib/llvm/lib/libLLVM.so.19",
                                     "[/usr/lib64/libLLVM.so.19]", "/usr/lib64/libva.so.2"));
}

TEST_F(LibraryPlacesTest, KeepsNoPlaceToWhichAnAbsoluteRunpathLeads)
{
    install("opt/rocm/lib", "libhip.so.7", {"libsys_z.so.1"}, "/opt/rocm/lib/sys");
    install("opt/rocm/lib/sys", "libsys_z.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.7")};

    EXPECT_THAT(found(rules),
                ElementsAre("/opt/rocm/lib/libhip.so.7", "[/opt/rocm/lib/sys/libsys_z.so.1]"));
    EXPECT_EQ(place_of(file(rules, "libsys_z.so.1")), "");
}

TEST_F(LibraryPlacesTest, FindsALibraryWithAPlaceBySonameTooIfSomethingNeedsItWithoutARunpath)
{
    install("opt/rocm/lib", "libhip.so.7", {"libsys_z.so.1", "libother.so.1"},
            "$ORIGIN:$ORIGIN/sys");
    install("opt/rocm/lib", "libother.so.1", {"libsys_z.so.1"}, "/opt/rocm/lib/sys");
    install("opt/rocm/lib/sys", "libsys_z.so.1");

    const DriverFile part = file({library("libhip.so.7")}, "libsys_z.so.1");
    EXPECT_EQ(place_of(part), "sys");
    EXPECT_NE(part.registered(Manner::loader), nullptr);
}

TEST_F(LibraryPlacesTest, FindsWhatANeutralLibraryNeedsBySoname)
{
    install("opt/rocm/lib", "libhip.so.7", {"libother.so.1", "libsys_z.so.1"},
            "$ORIGIN:$ORIGIN/sys");
    install("opt/rocm/lib", "libother.so.1", {"libsys_z.so.1", "libsys_elf.so.1"}, "$ORIGIN/sys");
    install("opt/rocm/lib/sys", "libsys_z.so.1");
    install("opt/rocm/lib/sys", "libsys_elf.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.7")};

    EXPECT_NE(file(rules, "libsys_z.so.1").registered(Manner::loader), nullptr);
    EXPECT_NE(file(rules, "libsys_elf.so.1").registered(Manner::loader), nullptr);
    EXPECT_EQ(place_of(file(rules, "libsys_elf.so.1")), "");
}

TEST_F(LibraryPlacesTest, KeepsThePlacesToWhichAnRpathLeads)
{
    install("opt/rocm/lib", "libhip.so.7", {"libown.so.1"}, "", "$ORIGIN:$ORIGIN/sys/lib");
    install("opt/rocm/lib", "libown.so.1", {"libsys_z.so.1"});
    install("opt/rocm/lib/sys/lib", "libsys_z.so.1");
    const std::vector<CatalogueRule> rules = {library("libhip.so.7"), library("libown.so.1")};

    EXPECT_EQ(place_of(file(rules, "libown.so.1")), "");
    EXPECT_EQ(place_of(file(rules, "libsys_z.so.1")), "sys/lib");
}

TEST_F(LibraryPlacesTest, KeepsNoPlaceForWhatIsALinkToAnotherDirectory)
{
    install("opt/rocm/lib", "libhip.so.7", {"libsys_z.so.1"}, "$ORIGIN:$ORIGIN/sys");
    install("usr/lib64", "libsys_z.so.1");
    tree_.link("opt/rocm/lib/sys/libsys_z.so.1", "../../../../usr/lib64/libsys_z.so.1");

    EXPECT_THAT(found({library("libhip.so.7")}),
                ElementsAre("/opt/rocm/lib/libhip.so.7", "[/usr/lib64/libsys_z.so.1]"));
}

TEST_F(LibraryPlacesTest, FindsNothingAboveTheLibraries)
{
    install("opt/rocm/lib", "libhip.so.7", {"libsys_z.so.1"}, "$ORIGIN/../sys");
    install("opt/rocm/sys", "libsys_z.so.1");

    EXPECT_THAT(found({library("libhip.so.7")}),
                ElementsAre("/opt/rocm/lib/libhip.so.7", "[/opt/rocm/sys/libsys_z.so.1]"));
}

} // namespace
} // namespace gpucontainer::search
