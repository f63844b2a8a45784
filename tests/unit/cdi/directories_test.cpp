// SPDX-License-Identifier: MIT
#include "cdi/directories.hpp"

#include "base/format.hpp"
#include "base/unique_fd.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CdiDirectoriesTest : public ::testing::Test {
protected:
    std::string path(const std::string& name) const { return root_.at(name); }

    void write(const std::string& name, std::initializer_list<const char*> devices)
    {
        std::string text = "cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n";
        for (const char* device : devices)
            text += base::format("- name: {}\n  containerEdits: {{env: [A=b]}}\n", device);
        root_.file(name, text);
    }

    /// "NAME STATE FILE" of each device.
    std::vector<std::string> devices(const std::vector<std::string>& names)
    {
        std::vector<std::string> all;
        for (const ListedDevice& one : read(names).devices)
            all.push_back(base::format("{} {} {}", one.name, name(one.state),
                                       one.path.substr(path("").size())));
        std::sort(all.begin(), all.end());
        return all;
    }

    Listing read(const std::vector<std::string>& names)
    {
        std::vector<std::string> paths;
        for (const std::string& name : names)
            paths.push_back(path(name));
        return read_paths(paths);
    }

    std::vector<std::string> findings(const std::vector<std::string>& names)
    {
        std::vector<std::string> all;
        for (const model::Finding& one : read(names).findings)
            all.push_back(base::format("{} {}", model::name(one.code), one.message()));
        return all;
    }

    test::TempRoot root_;
};

TEST_F(CdiDirectoriesTest, ReadsFilesOfTwoEndingsAndNoSubdirectory)
{
    write("a/one.yaml", {"d"});
    root_.file("a/two.json", R"({"cdiVersion": "0.5.0", "kind": "v.com/j",
                                  "devices": [{"name": "e", "containerEdits": {"env": ["A=b"]}}]})");
    write("a/three.yml", {"x"});
    write("a/more/four.yaml", {"y"});

    EXPECT_THAT(devices({"a"}),
                ElementsAre("v.com/c=d usable a/one.yaml", "v.com/j=e usable a/two.json"));
    EXPECT_THAT(findings({"a"}), IsEmpty());
}

TEST_F(CdiDirectoriesTest, PassesOverAMissingDirectory)
{
    write("a/one.yaml", {"d"});

    EXPECT_THAT(devices({"none", "a"}), ElementsAre("v.com/c=d usable a/one.yaml"));
    EXPECT_THAT(findings({"none"}), IsEmpty());
    EXPECT_THAT(findings({"none.yaml"}), ElementsAre(HasSubstr("No such file or directory")));
}

TEST_F(CdiDirectoriesTest, PrefersTheLaterDirectory)
{
    write("a/one.yaml", {"d", "e"});
    write("b/one.yaml", {"d"});

    EXPECT_THAT(devices({"a", "b"}),
                ElementsAre("v.com/c=d overridden a/one.yaml", "v.com/c=d usable b/one.yaml",
                            "v.com/c=e usable a/one.yaml"));
    EXPECT_THAT(findings({"a", "b"}), IsEmpty());
}

TEST_F(CdiDirectoriesTest, TakesADeviceOfTwoFilesFromNeither)
{
    write("a/one.yaml", {"d", "e"});
    write("a/two.yaml", {"d"});

    EXPECT_THAT(devices({"a"}),
                ElementsAre("v.com/c=d conflict a/one.yaml", "v.com/c=d conflict a/two.yaml",
                            "v.com/c=e usable a/one.yaml"));
    EXPECT_THAT(findings({"a"}), ElementsAre(HasSubstr("cdi_conflict v.com/c=d: ")));
}

TEST_F(CdiDirectoriesTest, LetsAHigherDirectorySettleAConflict)
{
    write("a/one.yaml", {"d"});
    write("a/two.yaml", {"d"});
    write("b/one.yaml", {"d"});

    EXPECT_THAT(devices({"a", "b"}),
                ElementsAre("v.com/c=d overridden a/one.yaml", "v.com/c=d overridden a/two.yaml",
                            "v.com/c=d usable b/one.yaml"));
}

TEST_F(CdiDirectoriesTest, KnowsADirectoryUnderTwoNames)
{
    write("a/one.yaml", {"d"});
    ASSERT_EQ(::symlink("a", path("b").c_str()), 0);

    EXPECT_THAT(devices({"a", "b"}), ElementsAre("v.com/c=d usable a/one.yaml"));
}

TEST_F(CdiDirectoriesTest, ReportsABadFileAndReadsTheOthers)
{
    write("a/one.yaml", {"d"});
    root_.file("a/bad.yaml", "cdiVersion: 0.5.0\nkind: v.com/c\ndevices: []\n");

    EXPECT_THAT(devices({"a"}), ElementsAre("v.com/c=d usable a/one.yaml"));
    EXPECT_THAT(findings({"a"}),
                ElementsAre("cdi_invalid " + path("a/bad.yaml") + ":1: it has no device"));
}

TEST_F(CdiDirectoriesTest, ReadsRegularFilesOfSomeSize)
{
    root_.file("a/huge.json", "");
    ASSERT_EQ(::truncate(path("a/huge.json").c_str(), 100 << 20), 0);
    ASSERT_EQ(::mkfifo(path("a/fifo.yaml").c_str(), 0600), 0);
    ASSERT_EQ(::symlink("nowhere", path("a/link.yaml").c_str()), 0);
    ASSERT_EQ(::symlink("/dev/zero", path("a/zero.json").c_str()), 0);
    ASSERT_EQ(::symlink("loop.json", path("a/loop.json").c_str()), 0);

    EXPECT_THAT(findings({"a"}),
                ElementsAre(HasSubstr("fifo.yaml: not a regular file"),
                            HasSubstr("huge.json: larger than 4194304 bytes"),
                            HasSubstr("link.yaml: No such file or directory"),
                            HasSubstr("loop.json: Too many levels of symbolic links"),
                            HasSubstr("zero.json: not a regular file")));
}

/// To open a device may already do something.
TEST_F(CdiDirectoriesTest, OpensNothingButRegularFiles)
{
    root_.file("a/one.yaml", "");
    ASSERT_EQ(::mkfifo(path("a/fifo.yaml").c_str(), 0600), 0);
    const base::UniqueFd opened(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    const auto is_opened = [&](const char* name) {
        const int watch = ::inotify_add_watch(opened.get(), path(name).c_str(), IN_OPEN);
        EXPECT_GE(watch, 0);
        EXPECT_FALSE(findings({"a"}).empty());
        std::array<std::byte, 4096> events;
        const bool is_told = ::read(opened.get(), events.data(), events.size()) > 0;
        EXPECT_EQ(::inotify_rm_watch(opened.get(), watch), 0);
        while (::read(opened.get(), events.data(), events.size()) > 0) {
        }
        return is_told;
    };
    EXPECT_FALSE(is_opened("a/fifo.yaml"));
    EXPECT_TRUE(is_opened("a/one.yaml"));
}

TEST_F(CdiDirectoriesTest, ReportsWhatIsNotThere)
{
    const std::string root = root_.at("x").parent_path();
    root_.file("file", "");
    root_.file("a/one.yaml",
               base::format("cdiVersion: 0.5.0\nkind: v.com/c\ndevices:\n- name: d\n"
                            "  containerEdits:\n    mounts:\n"
                            "    - {{hostPath: {0}/file, containerPath: /a}}\n"
                            "    - {{hostPath: {0}/gone, containerPath: /b}}\n"
                            "    deviceNodes:\n    - path: /dev/null\n"
                            "    - {{path: /dev/x, hostPath: {0}/node}}\n"
                            "    - {{path: /dev/y, type: c, major: 4242, minor: 1}}\n"
                            "    - {{path: /dev/z, hostPath: /dev/null, type: c, major: 4242}}\n"
                            "    - {{path: /dev/w, hostPath: {0}/file}}\n"
                            "    hooks: [{{hookName: poststop, path: {0}/hook}}]\n",
                            root));
    const Listing listing = read({"a"});
    ASSERT_EQ(listing.files.size(), 1U);

    model::Findings found;
    report_outdated(listing.files.front(), found);
    std::vector<std::string> texts;
    for (const model::Finding& one : found)
        texts.push_back(one.text);

    EXPECT_THAT(texts,
                ElementsAre(HasSubstr("/gone: No such file"), HasSubstr("/hook: No such file"),
                            HasSubstr("/node: No such file"),
                            "/dev/null: containers get a node of number 4242:0, and this "
                            "host's is 1:3",
                            HasSubstr("/file: not a device node")));
}

} // namespace
} // namespace gpucontainer::cdi
