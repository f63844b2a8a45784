// SPDX-License-Identifier: MIT
#include "check/program.hpp"

#include "check/container_view.hpp"
#include "check/found_program.hpp"
#include "elf/ld_cache_writer.hpp"
#include "linking/linker.hpp"
#include "unit/linking/elf_library.hpp"
#include "unit/plan/fake_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::check {
namespace {

using model::Blocks;
using model::Cause;
using model::FindingCode;
using model::Stage;
using test::ElfLibrary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* loader = "/lib64/ld-linux-x86-64.so.2";

class ProgramTest : public ::testing::Test {
protected:
    ProgramTest()
    {
        ElfLibrary plain;
        executable(loader, plain.bytes());
        ElfLibrary libc;
        libc.defines = {"libc.so.6", "GLIBC_2.31"};
        view_.file("/usr/lib/libc.so.6", libc.bytes());
    }

    void executable(const std::string& path, const std::string& content)
    {
        view_.file(path, content);
        view_.at(path).mode = 0755;
    }

    void program(const std::vector<std::string>& needed, const std::string& rpath = "")
    {
        ElfLibrary app;
        app.interpreter = loader;
        app.needed = needed;
        app.rpath = rpath;
        executable("/usr/bin/app", app.bytes());
    }

    /// A program of libraries, each of which needs 39 others.
    void program_of_groups(const std::string& directory, int groups)
    {
        constexpr int size = 39;
        std::vector<std::string> needed;
        for (int i = 0; i < groups; ++i) {
            ElfLibrary group;
            for (int j = 0; j < size; ++j) {
                group.needed.push_back("lib" + std::to_string(i * size + j) + ".so.1");
                view_.file(directory + "/" + group.needed.back(), ElfLibrary().bytes());
            }
            needed.push_back("libgroup" + std::to_string(i) + ".so.1");
            view_.file(directory + "/" + needed.back(), group.bytes());
        }
        program(needed);
    }

    FoundProgram find(const std::string& name) const
    {
        return find_program(view_, request_.container, name);
    }

    /// A library of the driver, which the plan gives in a tree.
    void give(const std::string& soname, const std::string& content)
    {
        model::DriverFile file;
        file.soname = soname;
        file.name = soname + ".2";
        file.path = "/host/" + soname;
        file.capability = model::Capability::compute;
        driver_.vendor = "maker";
        driver_.vendor_name = "Maker";
        view_.file("/usr/lib/tree/" + soname, content);
        const rootfs::Entry& there = view_.at("/usr/lib/tree/" + soname);
        file.id = {there.device, there.inode, 0, 0};
        driver_.files.push_back(file);
        cached_.push_back(soname);
        plan_.items.push_back({plan::Bind{file.path, file.id}, "/usr/lib/tree/" + soname});
    }

    /// The container as it was set up: the view has the files, and the cache what the plan has.
    Started run(const std::string& name)
    {
        std::vector<std::string> paths;
        std::vector<elf::NewCacheEntry> entries;
        paths.reserve(cached_.size());
        for (const std::string& soname : cached_)
            entries.push_back({soname, paths.emplace_back("/usr/lib/tree/" + soname), 0x0303});
        const std::string cache = elf::merge(nullptr, entries)->bytes;
        test::FakeView after = view_;
        after.file("/etc/ld.so.cache", cache);
        plan_.items.push_back({plan::LoaderCache{cache}, "/etc/ld.so.cache"});
        plan_.drivers = {{driver_.vendor, "", {}, {}}};
        const std::vector drivers = {driver_};
        Surroundings around = {view_, after, &plan_, request_, drivers};
        around.machine = elf::find_machine("x86_64");
        return start(around, name);
    }

    test::FakeView view_;
    plan::Request request_;
    plan::Plan plan_;
    model::DriverStack driver_;
    std::vector<std::string> cached_;
};

TEST_F(ProgramTest, IsFoundInThePathOfTheContainer)
{
    executable("/opt/bin/tool", ElfLibrary().bytes());
    view_.file("/usr/bin/tool"); // not executable
    request_.container["PATH"] = "relative:/usr/bin:/opt/bin";
    EXPECT_EQ(find("tool").path, "/opt/bin/tool");
    EXPECT_THAT(find("other").problem, HasSubstr("not in the container's PATH"));
    EXPECT_THAT(find("/usr/bin/tool").problem, HasSubstr("no permission"));
}

TEST_F(ProgramTest, IsFollowedThroughScripts)
{
    program({});
    executable("/usr/bin/env", ElfLibrary().bytes());
    executable("/usr/bin/first", "#! /usr/bin/env -S A=1 second -u\n");
    executable("/usr/bin/second", "#!/usr/bin/app\n");
    const FoundProgram found = find("first");
    EXPECT_EQ(found.path, "/usr/bin/app");
    EXPECT_THAT(found.scripts, ElementsAre("/usr/bin/first", "/usr/bin/second"));
}

TEST_F(ProgramTest, IsNotFollowedInACircle)
{
    executable("/usr/bin/one", "#!/usr/bin/two\n");
    executable("/usr/bin/two", "#!/usr/bin/one\n");
    EXPECT_THAT(find("one").problem, HasSubstr("leads to a script"));
}

TEST_F(ProgramTest, MayBeAScriptWithLinesOfWindowsOrWithoutItsInterpreter)
{
    executable("/usr/bin/windows", "#!/bin/sh\r\necho\r\n");
    executable("/usr/bin/alone", "#!/opt/python/bin/python3\n");
    EXPECT_THAT(find("windows").problem, HasSubstr("as in Windows"));
    EXPECT_THAT(find("alone").problem, HasSubstr("/opt/python/bin/python3, which runs it"));
}

TEST_F(ProgramTest, NamesAllThatItLoads)
{
    program({"libc.so.6"});
    EXPECT_THAT(run("app").loaded, ElementsAre("/usr/bin/app", loader, "/usr/lib/libc.so.6"));
}

TEST_F(ProgramTest, IsAnErrorIfItIsForAnotherMachine)
{
    ElfLibrary app;
    app.machine = EM_AARCH64;
    executable("/usr/bin/app", app.bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_EQ(started.causes[0].finding.code, FindingCode::program_unstartable);
    EXPECT_EQ(started.causes[0].severity(), model::Severity::error);
}

TEST_F(ProgramTest, FindsTheLibrariesOfTheDriver)
{
    program({"libd.so.1"});
    give("libd.so.1", ElfLibrary().bytes());
    EXPECT_THAT(run("app").causes, IsEmpty());
}

TEST_F(ProgramTest, IsToldOfAnotherCopyThatItFindsFirst)
{
    view_.file("/opt/old/libd.so.1", ElfLibrary().bytes());
    program({"libd.so.1"}, "/opt/old");
    give("libd.so.1", ElfLibrary().bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    const Cause& cause = started.causes[0];
    EXPECT_EQ(cause.finding.code, FindingCode::library_shadowed);
    EXPECT_EQ(cause.finding.evidence, "/opt/old/libd.so.1");
    EXPECT_EQ(cause.stage, Stage::load);
    EXPECT_EQ(cause.blocks, Blocks::all);
    EXPECT_FALSE(cause.mended);
}

TEST_F(ProgramTest, IsToldThatSettingUpMendsACopyInADefaultDirectory)
{
    view_.file("/usr/lib/libd.so.1"); // empty
    program({"libc.so.6"});
    give("libd.so.1", ElfLibrary().bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_TRUE(started.causes[0].mended);
    EXPECT_EQ(started.causes[0].finding.evidence, "/usr/lib/libd.so.1");
    EXPECT_EQ(started.causes[0].blocks, Blocks::some);
}

TEST_F(ProgramTest, IsToldOfVersionsThatTheDriverNeedsAndTheImageLacks)
{
    ElfLibrary library;
    library.needed = {"libc.so.6", "libX11.so.6"}; // most images lack the latter
    library.versions = {{"libc.so.6", "GLIBC_2.38"}};
    program({"libc.so.6"});
    give("libd.so.1", library.bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_EQ(started.causes[0].finding.code, FindingCode::version_not_found);
    EXPECT_EQ(started.causes[0].finding.evidence, "/host/libd.so.1");
    EXPECT_EQ(started.causes[0].severity(), model::Severity::warning);
}

TEST_F(ProgramTest, IsToldOfAPartOfTheDriverThatIsNotAskedFor)
{
    program({"libvideo.so.1"});
    give("libd.so.1", ElfLibrary().bytes());
    model::DriverFile video;
    video.soname = "libvideo.so.1";
    video.capability = model::Capability::video;
    driver_.files.push_back(video);
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_THAT(started.causes[0].finding.text, HasSubstr("part video"));
    EXPECT_THAT(started.causes[0].finding.hint, HasSubstr("--driver-capabilities"));
}

TEST_F(ProgramTest, IsToldOfAManifestThatNamesNoLibrary)
{
    view_.file("/etc/OpenCL/vendors/x.icd", "libx.so.1\n");
    view_.file("/etc/OpenCL/vendors/d.icd", "libd.so.1\n");
    program({"libc.so.6"});
    give("libd.so.1", ElfLibrary().bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_EQ(started.causes[0].finding.code, FindingCode::feature_missing);
    EXPECT_EQ(started.causes[0].finding.object, "/etc/OpenCL/vendors/x.icd");
}

TEST_F(ProgramTest, IsToldIfNotAllWasLookedAt)
{
    constexpr int libraries = 40;
    constexpr int directories = 30;
    std::string deep;
    for (int i = 0; i < 200; ++i)
        view_.directory(deep += "/q");
    for (int i = 0; i < libraries; ++i) {
        ElfLibrary made;
        for (int j = 0; j < directories; ++j)
            made.rpath += deep + "/none" + std::to_string(i * directories + j) + ":";
        made.needed = {"lib" + std::to_string(i + 1) + ".so"};
        view_.file("/usr/lib/lib" + std::to_string(i) + ".so", made.bytes());
    }
    program({"lib0.so"});
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_EQ(started.causes[0].finding.code, FindingCode::search_unfinished);
    EXPECT_EQ(started.causes[0].severity(), model::Severity::warning);
}

TEST_F(ProgramTest, IsToldIfThereAreTooManyLibraries)
{
    program_of_groups("/usr/lib", 25);
    EXPECT_THAT(run("app").causes, IsEmpty());
    program_of_groups("/usr/lib", 30);
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_EQ(started.causes[0].finding.code, FindingCode::search_unfinished);
}

TEST_F(ProgramTest, OfAThousandLibrariesIsLookedAtAsAWhole)
{
    std::string path;
    std::string last;
    for (int i = 0; i < 20; ++i) {
        last = "/opt/software/of/a/cluster/toolkit-" + std::to_string(i) + "/lib64";
        view_.directory(last);
        path += last + ":";
    }
    program_of_groups(last, 25);
    const ContainerView container(view_, plan_);
    linking::Linker linker(container, {{"LD_LIBRARY_PATH", path}}, {"x86-64-v3", "x86-64-v2"});
    const linking::Linked linked = linker.program("/usr/bin/app");
    EXPECT_THAT(linked.objects, SizeIs(1002)); // with the program and its loader
    EXPECT_TRUE(linked.is_complete);
    EXPECT_FALSE(linker.files().is_exhausted());
}

TEST_F(ProgramTest, OfTwoVersionsOfAKindIsToldOfTheNewer)
{
    ElfLibrary app;
    app.interpreter = loader;
    app.needed = {"libc.so.6"};
    app.versions = {
        {"libc.so.6", "GLIBC_2.34"}, {"libc.so.6", "GLIBC_2.38"}, {"libc.so.6", "GLIBC_2.4"}};
    executable("/usr/bin/app", app.bytes());
    const Started started = run("app");
    ASSERT_THAT(started.causes, SizeIs(1));
    EXPECT_THAT(started.causes[0].finding.text, HasSubstr("needs GLIBC_2.38"));
    EXPECT_EQ(started.causes[0].finding.evidence, "/usr/lib/libc.so.6");
}

} // namespace
} // namespace gpucontainer::check
