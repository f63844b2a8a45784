// SPDX-License-Identifier: MIT
// What this machine's own loader finds, which is asked by LD_TRACE_LOADED_OBJECTS, is what ours
// says that it finds.
#include "linking/linker.hpp"

#include "base/text.hpp"
#include "linking/processor.hpp"
#include "rootfs/root.hpp"
#include "support/temp_root.hpp"
#include "unit/elf/command.hpp"

#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::linking {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

using Environment = std::map<std::string, std::string>;

std::string without_links(const std::string& path)
{
    const std::filesystem::path whole(path);
    std::error_code failed;
    return (std::filesystem::canonical(whole.parent_path(), failed) / whole.filename()).string();
}

/// The libraries of a program as its loader lists them, and names that it does not find.
struct Listed {
    std::vector<std::string> paths;
    std::vector<std::string> lacking;
};

Listed list(const std::string& program, const Environment& environment)
{
    std::string words = "env -u LD_LIBRARY_PATH -u LD_PRELOAD LD_TRACE_LOADED_OBJECTS=1";
    for (const auto& [name, value] : environment)
        words += " '" + name + "=" + value + "'";
    const std::string output = test::run_command(words + " " + program).output;
    Listed listed;
    for (std::string_view line : base::split(output, '\n')) {
        line = base::trim(line);
        const std::size_t arrow = line.find(" => ");
        if (line.starts_with("linux-vdso") || line.empty())
            continue;
        std::string_view path = arrow == std::string_view::npos ? line : line.substr(arrow + 4);
        if (path.starts_with("not found"))
            listed.lacking.emplace_back(line.substr(0, arrow));
        else if (path = path.substr(0, path.find(" (")); path.starts_with('/'))
            listed.paths.push_back(without_links(std::string(path)));
    }
    return listed;
}

Listed ours(const std::string& program, const Environment& environment)
{
    const base::UniqueFd top(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto root = rootfs::Root::open(top.get());
    Linker linker(*root, environment, processor_levels());
    const Linked linked = linker.program(program);
    EXPECT_TRUE(linked.is_complete) << program;
    Listed listed;
    for (const Object& object : linked.objects)
        if (object.way != Way::program)
            listed.paths.push_back(without_links(object.path));
    for (const Lack& lack : linked.lacks) {
        const bool is_of_libraries =
            lack.kind == Lack::Kind::library || lack.kind == Lack::Kind::machine;
        if (is_of_libraries)
            listed.lacking.push_back(lack.name);
        else
            ADD_FAILURE() << program << " lacks " << lack.name << " of " << lack.file;
    }
    return listed;
}

void expect_same(const std::string& program, const Environment& environment = {})
{
    const Listed theirs = list(program, environment);
    const Listed found = ours(program, environment);
    EXPECT_THAT(found.paths, UnorderedElementsAreArray(theirs.paths)) << program;
    EXPECT_THAT(found.lacking, UnorderedElementsAreArray(theirs.lacking)) << program;
}

TEST(RealLoader, FindsTheSameForProgramsOfThisMachine)
{
    int tried = 0;
    for (const char* name : {"bash", "cmake",   "cat", "curl", "dpkg",      "find",  "g++",
                             "gdb",  "git",     "ld",  "ls",   "mount",     "ninja", "openssl",
                             "perl", "python3", "sed", "ssh",  "systemctl", "tar",   "vim"}) {
        const std::string path = std::string("/usr/bin/") + name;
        if (!std::filesystem::exists(path))
            continue;
        expect_same(path);
        ++tried;
    }
    EXPECT_GE(tried, 6);
}

/// Libraries and programs that the machine's compiler makes.
class MadeProgram : public ::testing::Test {
protected:
    void compile(const std::string& output, const std::string& source, const std::string& options)
    {
        root_.file(output + ".c", source);
        const std::string path = root_.at(output).string();
        const auto done = test::run_command(std::string(GPUCTR_C_COMPILER) + " -o " + path + " "
                                            + path + ".c " + options);
        ASSERT_EQ(done.status, 0) << done.output;
    }

    void library(const std::string& output, const std::string& function,
                 const std::string& options = "")
    {
        const std::string name(base::name_of(output));
        compile(output, "int " + function + "(void) { return 0; }",
                "-shared -fPIC -Wl,-soname," + name + " -Wl,--no-as-needed " + options);
    }

    void program(const std::string& output, const std::string& options)
    {
        compile(output, "int main(void) { return 0; }",
                "-Wl,--no-as-needed -Wl,--unresolved-symbols=ignore-all " + options);
    }

    std::string at(const std::string& path) const { return root_.at(path).string(); }

    test::TempRoot root_;
};

TEST_F(MadeProgram, HasItsRunpathForItselfAlone)
{
    root_.directory("lib");
    library("lib/libinner.so.1", "inner");
    library("lib/libouter.so.1", "outer", at("lib/libinner.so.1"));
    program("app", at("lib/libouter.so.1") + " -Wl,--enable-new-dtags -Wl,-rpath,'$ORIGIN/lib'");
    expect_same(at("app"));
    EXPECT_THAT(ours(at("app"), {}).lacking, Contains("libinner.so.1"));
}

TEST_F(MadeProgram, HandsDownItsRpath)
{
    root_.directory("lib");
    library("lib/libinner.so.1", "inner");
    library("lib/libouter.so.1", "outer", at("lib/libinner.so.1"));
    program("app", at("lib/libouter.so.1") + " -Wl,--disable-new-dtags -Wl,-rpath,'${ORIGIN}/lib'");
    expect_same(at("app"));
    EXPECT_THAT(ours(at("app"), {}).lacking, IsEmpty());
}

TEST_F(MadeProgram, HasAnRpathThatALibrarysRunpathCutsOff)
{
    root_.directory("lib");
    root_.directory("none");
    library("lib/libinner.so.1", "inner");
    library("lib/libouter.so.1", "outer",
            at("lib/libinner.so.1") + " -Wl,--enable-new-dtags -Wl,-rpath," + at("none"));
    program("app", at("lib/libouter.so.1") + " -Wl,--disable-new-dtags -Wl,-rpath,'$ORIGIN/lib'");
    expect_same(at("app"));
    EXPECT_THAT(ours(at("app"), {}).lacking, Contains("libinner.so.1"));
}

TEST_F(MadeProgram, LooksIntoLdLibraryPathAfterItsRpathAndBeforeItsRunpath)
{
    for (const char* directory : {"one", "two"}) {
        root_.directory(directory);
        library(std::string(directory) + "/libthing.so.1", "thing");
    }
    program("by-rpath",
            at("one/libthing.so.1") + " -Wl,--disable-new-dtags -Wl,-rpath," + at("one"));
    program("by-runpath",
            at("one/libthing.so.1") + " -Wl,--enable-new-dtags -Wl,-rpath," + at("one"));
    const Environment environment = {{"LD_LIBRARY_PATH", "/nowhere:" + at("two")}};
    expect_same(at("by-rpath"), environment);
    expect_same(at("by-runpath"), environment);
    EXPECT_THAT(ours(at("by-rpath"), environment).paths,
                Contains(without_links(at("one/libthing.so.1"))));
    EXPECT_THAT(ours(at("by-runpath"), environment).paths,
                Contains(without_links(at("two/libthing.so.1"))));
}

TEST_F(MadeProgram, GetsWhatIsPreloaded)
{
    library("libextra.so.1", "extra");
    program("app", "");
    expect_same(at("app"), {{"LD_PRELOAD", at("libextra.so.1") + " libnowhere.so"}});
}

TEST_F(MadeProgram, FindsLibrariesOfItsProcessor)
{
    for (const std::string& level : processor_levels()) {
        const std::string directory = "lib/glibc-hwcaps/" + level;
        std::filesystem::create_directories(root_.at(directory));
        library(directory + "/libfast.so.1", "fast");
    }
    root_.directory("lib");
    library("lib/libfast.so.1", "fast");
    program("app", at("lib/libfast.so.1") + " -Wl,-rpath,'$ORIGIN/lib'");
    expect_same(at("app"));
}

TEST_F(MadeProgram, NamesALibraryByItsPath)
{
    compile("libplain.so", "int plain(void) { return 0; }", "-shared -fPIC");
    program("app", at("libplain.so"));
    expect_same(at("app"));
}

TEST_F(MadeProgram, PassesOverALibraryOfAnotherMachine)
{
    for (const char* directory : {"one", "two"}) {
        root_.directory(directory);
        library(std::string(directory) + "/libthing.so.1", "thing");
    }
    std::string bytes = root_.read("one/libthing.so.1");
    bytes[18] = 0x16; // EM_S390
    root_.file("one/libthing.so.1", bytes);
    program("app", at("two/libthing.so.1") + " -Wl,-rpath," + at("one") + ":" + at("two"));
    expect_same(at("app"));
}

} // namespace
} // namespace gpucontainer::linking
