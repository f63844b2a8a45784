// SPDX-License-Identifier: MIT
#include "linking/linker.hpp"

#include "elf/ld_cache_writer.hpp"
#include "unit/linking/elf_library.hpp"
#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::linking {
namespace {

using test::ElfLibrary;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Kind = Lack::Kind;

constexpr const char* glibc_loader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* musl_loader = "/lib/ld-musl-x86_64.so.1";

/// A container that is made name by name.
class LinkerTest : public ::testing::Test {
protected:
    LinkerTest()
    {
        glibc(glibc_loader);
        view_.file(musl_loader, ElfLibrary().bytes());
        ElfLibrary libc;
        libc.soname = "libc.so.6";
        libc.defines = {"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.31"};
        libc.symbols = {{"printf", true}};
        library("/usr/lib/libc.so.6", libc);
    }

    void glibc(const std::string& path, const std::string& text = "")
    {
        ElfLibrary loader;
        loader.soname = "ld-linux-x86-64.so.2";
        view_.file(path, loader.bytes() + text);
    }

    void library(const std::string& path, const ElfLibrary& library)
    {
        view_.file(path, library.bytes());
    }

    /// One that has nothing but what it needs.
    void plain(const std::string& path, std::vector<std::string> needed = {})
    {
        ElfLibrary made;
        made.needed = std::move(needed);
        library(path, made);
    }

    ElfLibrary lacking(const std::string& directory, const std::string& rpath);

    static ElfLibrary needing(std::vector<std::string> needed,
                              const std::string& interpreter = glibc_loader)
    {
        ElfLibrary made;
        made.needed = std::move(needed);
        made.interpreter = interpreter;
        return made;
    }

    Linked link(const ElfLibrary& app, const std::map<std::string, std::string>& environment = {})
    {
        view_.file("/usr/bin/app", app.bytes());
        return Linker(view_, environment, {"x86-64-v3", "x86-64-v2"}).program("/usr/bin/app");
    }

    static std::vector<std::string> paths(const Linked& linked)
    {
        std::vector<std::string> all;
        for (const Object& object : linked.objects)
            if (object.way != Way::program && object.way != Way::loader)
                all.push_back(object.path);
        return all;
    }

    test::FakeView view_;
};

TEST_F(LinkerTest, LeavesAStaticProgramAlone)
{
    const Linked linked = link(needing({}, ""));
    EXPECT_EQ(linked.rules, Rules::none);
    EXPECT_THAT(linked.lacks, IsEmpty());
    EXPECT_THAT(linked.objects, SizeIs(1));
}

TEST_F(LinkerTest, NamesALoaderThatIsMissing)
{
    const Linked linked = link(needing({}, "/lib/ld-linux-aarch64.so.1"));
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].kind, Kind::interpreter);
    EXPECT_EQ(linked.lacks[0].name, "/lib/ld-linux-aarch64.so.1");
}

TEST_F(LinkerTest, DoesNotKnowTheRulesOfOtherLoaders)
{
    view_.file("/system/bin/linker64", ElfLibrary().bytes());
    const Linked linked = link(needing({}, "/system/bin/linker64"));
    EXPECT_EQ(linked.rules, Rules::unknown);
    EXPECT_FALSE(linked.is_complete);
}

TEST_F(LinkerTest, TakesTheCacheBeforeDefaultDirectories)
{
    plain("/usr/lib/libx.so.1");
    plain("/opt/libx.so.1");
    view_.file("/etc/ld.so.cache",
               elf::merge(nullptr, {{"libx.so.1", "/opt/libx.so.1", 0x0303}})->bytes);
    EXPECT_THAT(paths(link(needing({"libx.so.1"}))), ElementsAre("/opt/libx.so.1"));
}

TEST_F(LinkerTest, TakesADefaultDirectoryIfTheCacheLeadsNowhere)
{
    plain("/usr/lib/libx.so.1");
    view_.file("/etc/ld.so.cache",
               elf::merge(nullptr, {{"libx.so.1", "/opt/libx.so.1", 0x0303}})->bytes);
    EXPECT_THAT(paths(link(needing({"libx.so.1"}))), ElementsAre("/usr/lib/libx.so.1"));
}

TEST_F(LinkerTest, ReadsTheCacheAndDirectoriesThatTheLoaderNames)
{
    using namespace std::string_literals;
    glibc("/nix/store/g/lib/ld-linux-x86-64.so.2",
          "\0/nix/store/g/etc/ld.so.cache\0/nix/store/g/lib/\0"s);
    view_.file("/etc/ld.so.cache",
               elf::merge(nullptr, {{"libx.so.1", "/opt/libx.so.1", 0x0303}})->bytes);
    plain("/opt/libx.so.1");
    plain("/usr/lib/liby.so.1");
    plain("/nix/store/g/lib/libz.so.1");
    const Linked linked = link(
        needing({"libx.so.1", "liby.so.1", "libz.so.1"}, "/nix/store/g/lib/ld-linux-x86-64.so.2"));
    EXPECT_THAT(paths(linked), ElementsAre("/nix/store/g/lib/libz.so.1"));
    EXPECT_THAT(linked.lacks, SizeIs(2));
}

TEST_F(LinkerTest, DoesNotSearchDefaultDirectoriesForAFileThatForbidsIt)
{
    plain("/usr/lib/libx.so.1");
    ElfLibrary app = needing({"libx.so.1"});
    app.no_default_directories = true;
    EXPECT_THAT(link(app).lacks, SizeIs(1));
}

TEST_F(LinkerTest, ReplacesWordsInSearchPaths)
{
    plain("/opt/lib/x86_64-linux-gnu/libx.so.1");
    plain("/opt/x86_64/liby.so.1");
    ElfLibrary app = needing({"libx.so.1", "liby.so.1"});
    app.runpath = "$ORIGIN/../../opt/$LIB:/opt/${PLATFORM}";
    EXPECT_THAT(paths(link(app)),
                ElementsAre("/opt/lib/x86_64-linux-gnu/libx.so.1", "/opt/x86_64/liby.so.1"));
}

TEST_F(LinkerTest, EndsAtAnEmptyFile)
{
    view_.file("/opt/libx.so.1");
    plain("/usr/lib/libx.so.1");
    const Linked linked = link(needing({"libx.so.1"}), {{"LD_LIBRARY_PATH", "/opt"}});
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].kind, Kind::damaged);
    EXPECT_EQ(linked.lacks[0].file, "/opt/libx.so.1");
    EXPECT_EQ(linked.lacks[0].problem, "an empty file");
}

TEST_F(LinkerTest, PassesOverFilesForOtherMachines)
{
    ElfLibrary other;
    other.machine = EM_AARCH64;
    library("/opt/libx.so.1", other);
    plain("/usr/lib/libx.so.1");
    EXPECT_THAT(paths(link(needing({"libx.so.1"}), {{"LD_LIBRARY_PATH", "/opt"}})),
                ElementsAre("/usr/lib/libx.so.1"));
    view_.remove("/usr/lib/libx.so.1");
    const Linked linked = link(needing({"libx.so.1"}), {{"LD_LIBRARY_PATH", "/opt"}});
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].kind, Kind::machine);
    EXPECT_EQ(linked.lacks[0].file, "/opt/libx.so.1");
}

TEST_F(LinkerTest, SaysWhoNeedsALibraryAndWhereOneIs)
{
    plain("/usr/lib/libx.so.1", {"libz.so.1"});
    plain("/opt/z/libz.so.1");
    view_.file("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n");
    view_.file("/etc/ld.so.conf.d/z.conf", "# of Z\n/opt/z\n");
    const Linked linked = link(needing({"libx.so.1", "libz.so.1"}));
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_THAT(linked.lacks[0].needed_by, ElementsAre("/usr/bin/app", "/usr/lib/libx.so.1"));
    EXPECT_EQ(linked.lacks[0].elsewhere, "/opt/z/libz.so.1");
}

TEST_F(LinkerTest, NamesVersionsThatALibraryDoesNotDefine)
{
    ElfLibrary app = needing({"libc.so.6"});
    app.versions = {{"libc.so.6", "GLIBC_2.2.5"}, {"libc.so.6", "GLIBC_2.34"}};
    const Linked linked = link(app);
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].kind, Kind::version);
    EXPECT_EQ(linked.lacks[0].name, "GLIBC_2.34");
    EXPECT_EQ(linked.lacks[0].file, "/usr/lib/libc.so.6");
}

TEST_F(LinkerTest, TakesALibraryWithoutVersionsForAny)
{
    ElfLibrary other;
    other.soname = "libx.so.1";
    library("/usr/lib/libx.so.1", other);
    ElfLibrary app = needing({"libx.so.1"});
    app.versions = {{"libx.so.1", "X_2"}};
    EXPECT_THAT(link(app).lacks, IsEmpty());
}

TEST_F(LinkerTest, NamesSymbolsThatNobodyDefines)
{
    ElfLibrary other;
    other.symbols = {{"solve", true}};
    library("/usr/lib/libx.so.1", other);
    ElfLibrary app = needing({"libx.so.1", "libc.so.6"});
    app.symbols = {{"solve"}, {"solve_v2"}, {"maybe", false, true}, {"printf"}};
    const Linked linked = link(app);
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].kind, Kind::symbol);
    EXPECT_EQ(linked.lacks[0].name, "solve_v2");
}

TEST_F(LinkerTest, DoesNotNameSymbolsThatAMissingLibraryOrAStubMayHave)
{
    ElfLibrary app = needing({"libx.so.1"});
    app.symbols = {{"solve"}};
    EXPECT_THAT(link(app).lacks, SizeIs(1)); // the library
    plain("/usr/lib/libx.so.1");             // without any symbol
    EXPECT_THAT(link(app).lacks, IsEmpty());
}

TEST_F(LinkerTest, HasMuslLookIntoTheVariableBeforeAnRpath)
{
    plain("/one/libx.so");
    plain("/two/libx.so");
    ElfLibrary app = needing({"libx.so"}, musl_loader);
    app.rpath = "/one";
    EXPECT_THAT(paths(link(app, {{"LD_LIBRARY_PATH", "/two"}})), ElementsAre("/two/libx.so"));
}

TEST_F(LinkerTest, HasMuslHandDownARunpath)
{
    plain("/one/libx.so", {"liby.so"});
    plain("/one/liby.so");
    ElfLibrary app = needing({"libx.so"}, musl_loader);
    app.runpath = "/one";
    EXPECT_THAT(paths(link(app)), ElementsAre("/one/libx.so", "/one/liby.so"));
}

TEST_F(LinkerTest, HasMuslReadItsFileOfDirectories)
{
    plain("/strange/libx.so");
    plain("/usr/lib/liby.so");
    view_.file("/etc/ld-musl-x86_64.path", "/strange\n");
    const Linked linked = link(needing({"libx.so", "liby.so"}, musl_loader));
    EXPECT_THAT(paths(linked), ElementsAre("/strange/libx.so"));
    EXPECT_THAT(linked.lacks, SizeIs(1));
}

TEST_F(LinkerTest, TakesMuslsLoaderForItsLibrary)
{
    ElfLibrary app = needing({"libc.musl-x86_64.so.1", "libpthread.so.0"}, musl_loader);
    app.versions = {{"libc.musl-x86_64.so.1", "GLIBC_2.34"}}; // which musl does not look at
    EXPECT_THAT(link(app).lacks, IsEmpty());
}

TEST_F(LinkerTest, LooksForWhatALibraryNeedsThatIsLoadedByItsPath)
{
    ElfLibrary driver;
    driver.needed = {"libc.so.6", "libX11.so.6"};
    driver.versions = {{"libc.so.6", "GLIBC_2.99"}};
    library("/driver/libd.so.1", driver);
    Linker linker(view_, {}, {});
    const Linked linked = linker.library("/driver/libd.so.1", glibc_loader);
    ASSERT_THAT(linked.lacks, SizeIs(2));
    EXPECT_EQ(linked.lacks[0].name, "libX11.so.6");
    EXPECT_EQ(linked.lacks[1].name, "GLIBC_2.99");
}

TEST_F(LinkerTest, FindsALibraryByItsNameForAProgram)
{
    plain("/one/libx.so.1");
    plain("/usr/lib/libx.so.1");
    ElfLibrary app = needing({});
    app.rpath = "/one";
    view_.file("/usr/bin/app", app.bytes());
    Linker linker(view_, {}, {});
    elf::Facts facts;
    facts.machine = EM_X86_64;
    EXPECT_EQ(linker.find("libx.so.1", "/usr/bin/app", glibc_loader, facts)->path,
              "/one/libx.so.1");
    EXPECT_EQ(linker.find("libx.so.1", "", glibc_loader, facts)->path, "/usr/lib/libx.so.1");
    EXPECT_FALSE(linker.find("liby.so.1", "", glibc_loader, facts));
}

TEST_F(LinkerTest, LooksAtASumOfFilesAtMost)
{
    // Each library needs the next one: more than a loader is followed through.
    constexpr int count = 3000;
    for (int i = 0; i < count; ++i)
        plain("/usr/lib/lib" + std::to_string(i) + ".so", {"lib" + std::to_string(i + 1) + ".so"});
    const Linked linked = link(needing({"lib0.so"}));
    EXPECT_LT(linked.objects.size(), count);
    EXPECT_FALSE(linked.is_complete);
    EXPECT_THAT(linked.lacks, IsEmpty());
}

TEST_F(LinkerTest, KnowsWhereACopyWithAVersionIs)
{
    ElfLibrary old;
    old.defines = {"X_1"};
    library("/usr/lib/libx.so.1", old);
    ElfLibrary newer;
    newer.defines = {"X_1", "X_2"};
    library("/opt/conda/lib/libx.so.1", newer);
    Linker linker(view_, {}, {});
    elf::Facts facts;
    facts.machine = EM_X86_64;
    EXPECT_EQ(linker.find_anywhere("libx.so.1", facts, "X_2"), "/opt/conda/lib/libx.so.1");
    EXPECT_EQ(linker.find_anywhere("libx.so.1", facts, "X_3"), "");
    facts.machine = EM_AARCH64;
    EXPECT_EQ(linker.find_anywhere("libx.so.1", facts), "");
}

TEST_F(LinkerTest, DoesNotFollowAnEndlessSearchPath)
{
    std::string path;
    for (int i = 0; i < 5000; ++i)
        path += "/none/" + std::to_string(i) + ":";
    plain("/opt/libx.so.1");
    EXPECT_THAT(link(needing({"libx.so.1"}), {{"LD_LIBRARY_PATH", path + "/opt"}}).lacks,
                SizeIs(1));
}

/// Needs libraries of a directory, which are made, and need some hundreds that are not there.
ElfLibrary LinkerTest::lacking(const std::string& directory, const std::string& rpath)
{
    constexpr int libraries = 10;
    constexpr int names = 40;
    ElfLibrary needs;
    needs.rpath = rpath;
    for (int i = 0; i < libraries; ++i) {
        ElfLibrary made;
        made.rpath = rpath;
        for (int j = 0; j < names; ++j)
            made.needed.push_back("none" + std::to_string(i * names + j) + ".so");
        needs.needed.push_back("lacking" + std::to_string(i) + ".so");
        library(directory + needs.needed.back(), made);
    }
    return needs;
}

TEST_F(LinkerTest, GivesUpWhenSearchPathsMultiply)
{
    // Each of a chain of libraries has the same long RPATH, and all of them count for the last.
    constexpr int count = 100;
    std::string rpath;
    for (int i = 0; i < count; ++i) {
        view_.directory("/d/" + std::to_string(i));
        rpath += "/d/" + std::to_string(i) + ":";
    }
    for (int i = 0; i < count; ++i) {
        ElfLibrary made;
        made.rpath = rpath;
        made.needed = {"lib" + std::to_string(i + 1) + ".so"};
        library("/d/0/lib" + std::to_string(i) + ".so", made);
    }
    // Half of the names of a few libraries are too many.
    library("/d/0/lib" + std::to_string(count) + ".so", lacking("/d/0/", rpath));
    ElfLibrary app = needing({"lib0.so"});
    app.rpath = rpath;
    const Linked linked = link(app);
    EXPECT_FALSE(linked.is_complete);
    EXPECT_THAT(linked.lacks, SizeIs(::testing::Lt(256)));
}

TEST_F(LinkerTest, NamesANumberOfVersionsAndLibrariesAtMost)
{
    ElfLibrary old;
    old.defines = {"libx.so.1", "X_0"};
    library("/usr/lib/libx.so.1", old);
    ElfLibrary app = needing({"libx.so.1"});
    for (int i = 1; i < 1000; ++i)
        app.versions.emplace_back("libx.so.1", "X_" + std::to_string(i));
    EXPECT_THAT(link(app).lacks, SizeIs(256));
    ElfLibrary other = lacking("/usr/lib/", "");
    other.interpreter = glibc_loader;
    const Linked linked = link(other);
    EXPECT_THAT(linked.lacks, SizeIs(256));
    EXPECT_FALSE(linked.is_complete);
}

TEST_F(LinkerTest, SaysNothingOfSymbolsWithVeryLongNames)
{
    const auto wanting = [&](std::size_t length) {
        std::vector<std::string> names;
        for (char i = '0'; i < '3'; ++i) {
            ElfLibrary made;
            for (char j = '0'; j < '6'; ++j)
                made.symbols.push_back({std::string(length, 's') + i + j});
            names.push_back(std::string("lib") + i + ".so");
            library("/usr/lib/" + names.back(), made);
        }
        Linked linked = link(needing(names));
        return linked.lacks;
    };

    EXPECT_THAT(wanting(300), SizeIs(16));
    EXPECT_THAT(wanting(std::size_t{4} << 20U), IsEmpty()); // 72 MiB
}

TEST_F(LinkerTest, TellsTheBeginningOfALongName)
{
    const Linked linked = link(needing({std::string(1000, 'n')}));
    ASSERT_THAT(linked.lacks, SizeIs(1));
    EXPECT_EQ(linked.lacks[0].name, std::string(256, 'n') + "...");
}

TEST_F(LinkerTest, EndsWithLibrariesThatNeedEachOther)
{
    plain("/usr/lib/libx.so.1", {"liby.so.1", "libx.so.1"});
    plain("/usr/lib/liby.so.1", {"libx.so.1"});
    EXPECT_THAT(paths(link(needing({"libx.so.1"}))),
                ElementsAre("/usr/lib/libx.so.1", "/usr/lib/liby.so.1"));
}

} // namespace
} // namespace gpucontainer::linking
