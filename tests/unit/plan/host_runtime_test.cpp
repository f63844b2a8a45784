// SPDX-License-Identifier: MIT
#include "elf/ld_cache.hpp"
#include "elf_stub.hpp"
#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::DriverFile;
using model::FindingCode;
using search::HostRuntime;
using search::RuntimeFile;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

#if defined(__aarch64__)
constexpr const char* own_machine_name = "AArch64";
#else
constexpr const char* own_machine_name = "Advanced Micro Devices X86-64";
#endif

/// An image of Debian 11, and a driver of a host with the C library 2.36, whose files need that.
class HostRuntimeTest : public PlanTest {
protected:
    HostRuntimeTest()
    {
        loader_name_ = std::string(base::name_of(elf::own_machine().loader));
        root_.file(real_loader(), library(loader_name_));
        root_.link(std::string(elf::own_machine().loader), real_loader());
        give_image("libc.so.6", {"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.31"}, "libc-2.31.so");
        for (const char* soname : {"libm.so.6", "libdl.so.2", "libpthread.so.0"})
            give_image(soname, {soname, "GLIBC_2.2.5"});
        HostRuntime host;
        host.c_library.release = "Acme GLIBC 2.36-9, 2.36";
        host.c_library.home = "/lib";
        host.c_library.files = {hosts(loader_name_, 100),
                                hosts("libc.so.6", 101, {"GLIBC_2.2.5", "GLIBC_2.36", "libc.so.6"}),
                                hosts("libm.so.6", 102),
                                hosts("libdl.so.2", 103),
                                hosts("libpthread.so.0", 104),
                                hosts("libmvec.so.1", 105)};
        host.c_library.gconv = "/host/lib/gconv";
        host.c_library.gconv_id = {7, 106, 1, 1};
        host.compiler = {
            hosts("libstdc++.so.6", 107,
                  {"GLIBCXX_3.4", "GLIBCXX_3.4.28", "GLIBCXX_3.4.30", "libstdc++.so.6"})};
        request_.glibc = {true, "", std::move(host)};
        driver_.optional_files = true;
        DriverFile hip = test::make_library("libhip.so.6", Capability::compute, 21);
        hip.versions = {{"libc.so.6", "GLIBC_2.34"}};
        driver_.files = {hip};
    }

    static std::string library(std::string soname, std::vector<std::string> definitions = {},
                               std::vector<std::string> versions = {})
    {
        simhost::ElfStub stub;
        stub.elf_class = "ELF64";
        stub.machine = own_machine_name;
        stub.soname = std::move(soname);
        stub.definitions = std::move(definitions);
        stub.versions = std::move(versions);
        if (!stub.versions.empty())
            stub.needed = {"libc.so.6"};
        stub.strict = true;
        const auto bytes = simhost::make_elf_stub(stub);
        EXPECT_TRUE(bytes) << bytes.error().message();
        return bytes ? *bytes : "";
    }

    std::string real_loader() const { return libraries_ + "/ld-2.31.so"; }

    void give_image(const std::string& soname, std::vector<std::string> definitions,
                    const std::string& name = "")
    {
        const std::string path = libraries_ + "/" + (name.empty() ? soname : name);
        root_.file(path, library(soname, std::move(definitions)));
        if (!name.empty())
            root_.link(libraries_ + "/" + soname, path);
    }

    static RuntimeFile hosts(const std::string& soname, std::uint64_t inode,
                             std::vector<std::string> versions = {})
    {
        return {soname, "/host/lib/" + soname, {7, inode, 1, 1}, std::move(versions), {}};
    }

    HostRuntime& host() { return *request_.glibc.host; }

    /// "SOURCE TARGET" of each.
    std::vector<std::string> covers() const
    {
        std::vector<std::string> all;
        for (const Item& item : made().items)
            if (item.kind() == ItemKind::cover)
                all.push_back(base::format("{} {}", item.source(), item.target));
        return all;
    }

    bool takes_driver() const
    {
        const auto all = items({ItemKind::bind});
        return std::ranges::any_of(
            all, [](const std::string& text) { return text.find("libhip") != std::string::npos; });
    }

    std::string loader_name_;
};

TEST_F(HostRuntimeTest, TakesThePlaceOfAllOfAnOlderOne)
{
    EXPECT_THAT(covers(), UnorderedElementsAre(
                              "/host/lib/" + loader_name_ + " " + real_loader(),
                              "/host/lib/libc.so.6 " + libraries_ + "/libc-2.31.so",
                              "/host/lib/libm.so.6 " + libraries_ + "/libm.so.6",
                              "/host/lib/libdl.so.2 " + libraries_ + "/libdl.so.2",
                              "/host/lib/libpthread.so.0 " + libraries_ + "/libpthread.so.0"));
    EXPECT_TRUE(takes_driver());
    EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(HostRuntimeTest, CoversFasterBuildsAndThoseThatAVariableNames)
{
    const std::string faster = libraries_ + "/glibc-hwcaps/x86-64-v3/libm.so.6";
    for (const std::string& path : {faster, std::string("/opt/own/libm.so.6")})
        root_.file(path, library("libm.so.6"));
    request_.container["LD_LIBRARY_PATH"] = "/opt/own/:$ORIGIN";

    EXPECT_THAT(covers(), AllOf(Contains("/host/lib/libm.so.6 " + faster),
                                Contains("/host/lib/libm.so.6 /opt/own/libm.so.6")));
}

TEST_F(HostRuntimeTest, HasPartsThatTheImageLacksInTheTree)
{
    host().c_library.home = libraries_;
    EXPECT_THAT(items({ItemKind::bind}),
                Contains(HasSubstr("/host/lib/libmvec.so.1 -> "
                                   "/usr/lib/gpuctr/distribution/lib64/")));
    EXPECT_THAT(items({ItemKind::bind}),
                Contains(HasSubstr("/host/lib/gconv -> /usr/lib/gpuctr/distribution/gconv")));
    EXPECT_THAT(texts(made().variables),
                Contains("set GCONV_PATH=/usr/lib/gpuctr/distribution/gconv"));
    const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
    ASSERT_TRUE(cache) << cache.error().message();
    EXPECT_THAT(cache->lookup("libmvec.so.1"), Not(IsEmpty()));
    EXPECT_THAT(cache->lookup("libm.so.6"), IsEmpty());
}

TEST_F(HostRuntimeTest, FindsTheImagesLibrariesInDirectoriesOfAnotherFamily)
{
    const auto found = [&](const char* name) {
        const auto cache = elf::LdCache::parse(item(ItemKind::ldcache).as<LoaderCache>()->content);
        EXPECT_TRUE(cache) << cache.error().message();
        std::vector<std::string> paths;
        for (const elf::CacheEntry& entry : cache->lookup(name))
            paths.emplace_back(entry.value);
        return paths;
    };
    give_image("libz.so.1", {});
    give_image("libhip.so.6", {});
    EXPECT_THAT(found("libz.so.1"), ElementsAre(libraries_ + "/libz.so.1"));
    EXPECT_THAT(found("libhip.so.6").front(), HasSubstr(tree));

    host().c_library.home = libraries_;
    EXPECT_THAT(found("libz.so.1"), IsEmpty());
}

TEST_F(HostRuntimeTest, CoversTheImagesCharacterSets)
{
    root_.directory(libraries_ + "/gconv");
    root_.directory("/lib/gconv");

    EXPECT_THAT(items({ItemKind::bind}),
                AllOf(Contains(HasSubstr("/host/lib/gconv -> " + libraries_ + "/gconv")),
                      Contains(HasSubstr("/host/lib/gconv -> /lib/gconv"))));
    EXPECT_THAT(texts(made().variables), Contains("set GCONV_PATH=" + libraries_ + "/gconv"));
}

TEST_F(HostRuntimeTest, CoversNothingElseToWhichALinkLeads)
{
    for (const char* target : {"/", "/etc", "/proc/gconv", "/dev/gconv", "/nowhere/gconv"}) {
        if (std::string_view(target) != "/nowhere/gconv")
            root_.directory(target);
        root_.link(libraries_ + "/gconv", target);

        EXPECT_THAT(items({ItemKind::bind}), Not(Contains(HasSubstr("gconv -> /usr/lib/x"))));
        EXPECT_THAT(texts(made().variables),
                    Contains("set GCONV_PATH=/usr/lib/gpuctr/distribution/gconv"))
            << target;
    }
}

TEST_F(HostRuntimeTest, IsTheSamePlanOnceItIsThere)
{
    const std::string identity = made().identity;
    const auto put = [&](const std::string& path, const model::FileId& id) {
        root_.at(path).device = id.device;
        root_.at(path).inode = id.inode;
    };
    const auto& files = host().c_library.files;
    put(real_loader(), files[0].id);
    root_.at(real_loader()).mount = 5;
    root_.file(libraries_ + "/libc-2.31.so",
               library("libc.so.6", {"libc.so.6", "GLIBC_2.2.5", "GLIBC_2.36"}));
    put(libraries_ + "/libc-2.31.so", files[1].id);
    put(libraries_ + "/libm.so.6", files[2].id);
    put(libraries_ + "/libdl.so.2", files[3].id);
    put(libraries_ + "/libpthread.so.0", files[4].id);

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_EQ(made().identity, identity);
}

TEST_F(HostRuntimeTest, StaysAwayIfTheImageHasTheHostsDirectories)
{
    driver_.files[0].versions.clear();
    root_.at(real_loader()).device = host().c_library.files[0].id.device;
    root_.at(real_loader()).inode = host().c_library.files[0].id.inode;

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_THAT(made().variables, Not(Contains(testing::Field(&Variable::name, "GCONV_PATH"))));
}

TEST_F(HostRuntimeTest, StaysAwayIfNobodyAsksForIt)
{
    request_.glibc = {};

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_FALSE(takes_driver());
    const auto findings = made().findings;
    const auto left_out =
        std::ranges::find(findings, FindingCode::files_left_out, &model::Finding::code);
    ASSERT_NE(left_out, findings.end());
    EXPECT_THAT(left_out->hint, HasSubstr("--glibc auto"));

    request_.vendor_libs = VendorLibs::host;
    const auto refused = make();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::requirement);
    EXPECT_THAT(refused.error().hint(), HasSubstr("--glibc auto"));
}

TEST_F(HostRuntimeTest, StaysAwayIfNothingNeedsIt)
{
    driver_.files[0].versions = {{"libc.so.6", "GLIBC_2.31"}};

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_TRUE(takes_driver());
    EXPECT_THAT(skipped("the host's C library"),
                ElementsAre(": not used: nothing that the container gets needs it"));
}

TEST_F(HostRuntimeTest, IsNeededByFilesWhoseRecordDoesNotTell)
{
    driver_.optional_files = false;
    driver_.files[0].versions.clear();
    EXPECT_THAT(covers(), IsEmpty());

    host().needs[driver_.files[0].path] = {{"libc.so.6", "GLIBC_2.34"}};
    EXPECT_THAT(covers(), Not(IsEmpty()));
}

TEST_F(HostRuntimeTest, StaysAwayFromAnImageThatIsNotOlder)
{
    driver_.files[0].versions = {{"libc.so.6", "GLIBC_2.38"}};
    host().c_library.files[1].versions = {"GLIBC_2.31", "libc.so.6"};

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("has GLIBC_2.31, and the host's GLIBC_2.31: it "
                                                  "is not older")));
}

TEST_F(HostRuntimeTest, DoesNotHelpIfItIsTooOldItself)
{
    driver_.files[0].versions = {{"libc.so.6", "GLIBC_2.38"}};

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_FALSE(takes_driver());
}

TEST_F(HostRuntimeTest, IsTakenAsAWholeOrNotAtAll)
{
    host().c_library.problem = "its files are of different builds: x";

    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("different builds")));
}

TEST_F(HostRuntimeTest, StaysAwayFromAnInterpreterElsewhere)
{
    for (const char* path :
         {"/nix/store/x/lib/ld.so", "/gnu/store/x/lib/ld.so", "/opt/conda/lib/ld.so"}) {
        root_.file(path, library(loader_name_));
        root_.link(std::string(elf::own_machine().loader), path);

        EXPECT_THAT(covers(), IsEmpty());
        EXPECT_THAT(warnings(),
                    ElementsAre(AllOf(HasSubstr(path), HasSubstr("Nix, Guix and conda"))));
    }
}

TEST_F(HostRuntimeTest, StaysAwayFromAnotherLoaderThanGlibcs)
{
    root_.file(real_loader(), library("libgcompat.so.0"));
    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("is not the loader of glibc for this machine")));

    root_.file(real_loader(), "no ELF file");
    EXPECT_THAT(covers(), IsEmpty());
}

TEST_F(HostRuntimeTest, TakesNewerLibrariesOfTheCompiler)
{
    give_image("libstdc++.so.6", {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28"});
    EXPECT_THAT(covers(), Contains("/host/lib/libstdc++.so.6 " + libraries_ + "/libstdc++.so.6"));

    give_image("libstdc++.so.6",
               {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28", "GLIBCXX_3.4.30"});
    EXPECT_THAT(covers(), Not(Contains(HasSubstr("libstdc++"))));

    give_image("libstdc++.so.6",
               {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28", "GLIBCXX_3.4.31"});
    EXPECT_THAT(covers(), Not(Contains(HasSubstr("libstdc++"))));
}

TEST_F(HostRuntimeTest, TakesLibrariesOfTheCompilerAlone)
{
    give_image("libstdc++.so.6", {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28"});
    driver_.files[0].versions = {{"libstdc++.so.6", "GLIBCXX_3.4.30"}};
    EXPECT_THAT(covers(),
                ElementsAre("/host/lib/libstdc++.so.6 " + libraries_ + "/libstdc++.so.6"));
    EXPECT_TRUE(takes_driver());

    driver_.files[0].versions = {{"libstdc++.so.6", "GLIBCXX_3.4.31"}};
    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_FALSE(takes_driver());
}

TEST_F(HostRuntimeTest, TakesTheCLibraryThatLibrariesOfTheCompilerNeed)
{
    give_image("libstdc++.so.6", {"libstdc++.so.6", "GLIBCXX_3.4", "GLIBCXX_3.4.28"});
    driver_.files[0].versions = {{"libstdc++.so.6", "GLIBCXX_3.4.30"}};
    host().compiler[0].needs = {{"libc.so.6", "GLIBC_2.36"}};
    EXPECT_THAT(covers(),
                AllOf(Contains(HasSubstr("libstdc++")), Contains(HasSubstr("libc.so.6"))));

    host().c_library.problem = "its files are of different builds: x";
    EXPECT_THAT(covers(), IsEmpty());
    EXPECT_FALSE(takes_driver());
}

TEST_F(HostRuntimeTest, StaysAwayFromAStaticProgram)
{
    simhost::ElfStub stub;
    stub.kind = simhost::StubKind::library; // it has no interpreter
    stub.elf_class = "ELF64";
    stub.machine = own_machine_name;
    root_.file("/usr/bin/static", *simhost::make_elf_stub(stub));
    root_.file("/usr/bin/script", "#!/usr/bin/static\n");
    request_.container["PATH"] = "/nowhere:/usr/bin";
    for (const char* name : {"/usr/bin/static", "static", "script"}) {
        request_.glibc.program = name;
        EXPECT_THAT(covers(), IsEmpty()) << name;
        EXPECT_THAT(warnings(), ElementsAre(HasSubstr("/usr/bin/static is a static program")));
    }
    for (const char* name : {"./static", "/nowhere", "missing", "/usr/bin"}) {
        request_.glibc.program = name;
        EXPECT_THAT(covers(), Not(IsEmpty())) << name;
    }
}

TEST_F(HostRuntimeTest, FollowsNoEndlessScripts)
{
    root_.file("/usr/bin/script", "#!/usr/bin/script\n");
    request_.glibc.program = "/usr/bin/script";

    EXPECT_THAT(covers(), Not(IsEmpty()));
}

TEST_F(HostRuntimeTest, HidesPartsOfTheImageThatGoWithItsOwnAlone)
{
    root_.file(libraries_ + "/libnss_nis.so.2", library("libnss_nis.so.2", {}, {"GLIBC_PRIVATE"}));
    root_.file(libraries_ + "/libnsl.so.1", library("libnsl.so.1", {}, {"GLIBC_PRIVATE"}));
    root_.file(libraries_ + "/libcidn.so.1", library("libcidn.so.1", {}, {"GLIBC_2.2.5"}));

    EXPECT_THAT(covers(), AllOf(Contains(" " + libraries_ + "/libnss_nis.so.2"),
                                Contains(" " + libraries_ + "/libnsl.so.1"),
                                Not(Contains(HasSubstr("libcidn")))));
    EXPECT_THAT(warnings(), ElementsAre(HasSubstr("libnsl.so.1: programs that are linked to it")));
}

TEST_F(HostRuntimeTest, IsForAnImageThatIsKnown)
{
    const auto plan = create_plan({&driver_, 1}, request_, nullptr);

    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_THAT(plan->findings,
                Contains(testing::Field(&model::Finding::code, FindingCode::c_library_decided)));
}

} // namespace
} // namespace gpucontainer::plan
