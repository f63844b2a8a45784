// SPDX-License-Identifier: MIT
#include "recording.hpp"

#include "base/format.hpp"
#include "base/unique_fd.hpp"
#include "support/temp_root.hpp"
#include "tree.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>

namespace gpucontainer::simhost {
namespace {

constexpr std::string_view columns =
    "#path\tkind\tmode\tsize\ttarget\tclass\tmachine\tsoname\tneeded\tverneed\tstrings\n";

std::string files(std::string_view lines) { return std::string(columns).append(lines); }

template <typename T>
std::string problem(const Result<T>& result)
{
    return result ? "no error" : result.error().message();
}

Result<Recording> read_trusted(const std::string& path)
{
    std::vector<std::string> left_out;
    return read_recording(path, Author::trusted, left_out);
}

TEST(RecordingTest, ReadsALibraryLine)
{
    const auto parsed = parse_files(
        files("/usr/lib/libx.so.1\tf\t0755\t4096\t\tELF64\tAArch64\tlibx.so.1\tlibc.so.6,libm.so.6"
              "\tGLIBC_2.17\t\n"));

    ASSERT_TRUE(parsed) << problem(parsed);
    ASSERT_EQ(parsed->size(), 1U);
    const RecordedFile& file = parsed->front();
    EXPECT_EQ(file.path, "/usr/lib/libx.so.1");
    EXPECT_FALSE(file.is_link);
    EXPECT_EQ(file.mode, 0755U);
    EXPECT_EQ(file.size, 4096U);
    EXPECT_EQ(file.machine, "AArch64");
    EXPECT_THAT(file.needed, testing::ElementsAre("libc.so.6", "libm.so.6"));
    EXPECT_THAT(file.versions, testing::ElementsAre("GLIBC_2.17"));
}

TEST(RecordingTest, FindsColumnsByName)
{
    const auto parsed = parse_files("#kind\ttarget\tsize\tmode\tpath\nl\t../b\t\t0777\t/usr/a\n");

    ASSERT_TRUE(parsed) << problem(parsed);
    EXPECT_EQ(parsed->front().path, "/usr/a");
    EXPECT_EQ(parsed->front().target, "../b");
}

TEST(RecordingTest, RefusesBadFileLines)
{
    EXPECT_EQ(problem(parse_files("path\tkind\n")), "line 1: no column names in 'path\tkind'");
    EXPECT_EQ(problem(parse_files("#path\tkind\tmode\tsize\n")), "line 1: no column 'target'");
    EXPECT_EQ(problem(parse_files(files("/usr/../etc/shadow\tf\t0644\t1\t\n"))),
              "line 2: no absolute plain path '/usr/../etc/shadow'");
    EXPECT_EQ(problem(parse_files(files("/usr/a\td\t0644\t1\t\n"))),
              "line 2: kind is neither f nor l but 'd'");
    EXPECT_EQ(problem(parse_files(files("/usr/a\tf\t0989\t1\t\n"))),
              "line 2: mode is not octal but '0989'");
    EXPECT_EQ(problem(parse_files(files("/usr/a\tf\t0644\t99999999999999\t\n"))),
              "line 2: no usable size: '99999999999999'");
    EXPECT_EQ(problem(parse_files(files("/usr/a\tl\t0777\t\t\n"))),
              "line 2: no usable target of the link '/usr/a'");
}

TEST(RecordingTest, ReadsDeviceNodes)
{
    const auto parsed = parse_nodes("# path kind\n"
                                    "/dev/nvidia0 c 195:0 0666 0 44\n"
                                    "/dev/dri/by-path/x l - 0777 0 0 -> ../card0\n");

    ASSERT_TRUE(parsed) << problem(parsed);
    ASSERT_EQ(parsed->size(), 2U);
    EXPECT_EQ((*parsed)[0].major, 195U);
    EXPECT_EQ((*parsed)[0].minor, 0U);
    EXPECT_EQ((*parsed)[0].mode, 0666U);
    EXPECT_EQ((*parsed)[0].gid, 44U);
    EXPECT_EQ((*parsed)[1].kind, NodeKind::link);
    EXPECT_EQ((*parsed)[1].target, "../card0");
}

TEST(RecordingTest, RefusesBadNodeLines)
{
    EXPECT_EQ(problem(parse_nodes("/etc/passwd c 1:3 0666 0 0\n")),
              "line 1: no plain path below /dev: '/etc/passwd'");
    EXPECT_EQ(problem(parse_nodes("/dev/x c 1 0666 0 0\n")), "line 1: no device number: '1'");
    EXPECT_EQ(problem(parse_nodes("/dev/x c 1:3 0666 0\n")),
              "line 1: fewer than six fields in '/dev/x c 1:3 0666 0'");
}

TEST(RecordingTest, ReadsDevices)
{
    const auto parsed = parse_devices("P: /devices/pci0000:00/0000:00:06.0\n"
                                      "E: SUBSYSTEM=pci\n"
                                      "A: class=0x030200\\n\n"
                                      "A: odd=a\\\\b\\101\n"
                                      "H: config=DE10\n"
                                      "L: driver=../../../bus/pci/drivers/nvidia\n");

    ASSERT_TRUE(parsed) << problem(parsed);
    const SysDevice& device = parsed->front();
    EXPECT_EQ(device.property("SUBSYSTEM"), "pci");
    EXPECT_EQ(device.property("DRIVER"), "");
    ASSERT_EQ(device.attributes.size(), 3U);
    EXPECT_EQ(device.attributes[0].text, "0x030200\n");
    EXPECT_EQ(device.attributes[1].text, "a\\bA");
    EXPECT_EQ(device.attributes[2].text, "\xde\x10");
    EXPECT_EQ(device.links.front().name, "driver");
}

TEST(RecordingTest, RefusesBadDeviceLines)
{
    EXPECT_EQ(problem(parse_devices("A: class=1\n")), "line 1: no device before 'A: class=1'");
    EXPECT_EQ(problem(parse_devices("P: /class/drm\n")),
              "line 1: no plain path below /devices: '/class/drm'");
    EXPECT_EQ(problem(parse_devices("P: /devices/a\nH: config=XYZ\n")),
              "line 2: no hexadecimal bytes: 'config'");
    EXPECT_EQ(problem(parse_devices("P: /devices/a\nA: ../../x=1\n")),
              "line 2: no NAME=VALUE: '../../x=1'");
}

TEST(RecordingTest, FieldsOfDevicesAreNamesNumbersAndLinksWithinSysfs)
{
    for (const char* line :
         {"E: SUBSYSTEM=../../etc", "E: SUBSYSTEM=", "E: SUBSYSTEM=..", "E: MAJOR=1/../../x",
          "E: MINOR=-1", "E: MINOR=", "L: driver=/etc/passwd", "L: driver=../../../bus",
          "L: driver=../..", "L: x=../../../../etc"})
        EXPECT_FALSE(parse_devices(base::format("P: /devices/a\n{}\n", line))) << line;
    EXPECT_TRUE(parse_devices("P: /devices/a\nE: SUBSYSTEM=drm\nE: MAJOR=226\nE: MINOR=0\n"
                              "L: driver=../../bus/pci/drivers/x\n"));
}

TEST(RecordingTest, SplitsTheLoaderConfiguration)
{
    const auto parsed = parse_loader_conf("# /etc/ld.so.conf\ninclude /etc/ld.so.conf.d/*.conf\n\n"
                                          "# /etc/ld.so.conf.d/libc.conf\n# libc default\n"
                                          "/usr/local/lib\n\n");

    ASSERT_TRUE(parsed) << problem(parsed);
    ASSERT_EQ(parsed->size(), 2U);
    EXPECT_EQ((*parsed)[0].content, "include /etc/ld.so.conf.d/*.conf\n");
    EXPECT_EQ((*parsed)[1].path, "/etc/ld.so.conf.d/libc.conf");
    EXPECT_EQ((*parsed)[1].content, "# libc default\n/usr/local/lib\n");
}

TEST(RecordingTest, ReadsTheRecordedHostWhole)
{
    const auto host = read_trusted(GPUCTR_TEST_SOURCE_DIR "/hosts/h200-x8-ubuntu24.04-580");

    ASSERT_TRUE(host) << problem(host);
    EXPECT_GT(host->files.size(), 150U);
    EXPECT_EQ(host->nodes.size(), 17U);
    EXPECT_EQ(host->devices.size(), 9U);
    EXPECT_EQ(host->loader_conf.size(), 8U);
    EXPECT_FALSE(host->loader_cache.empty());
    EXPECT_TRUE(std::any_of(host->proc.begin(), host->proc.end(), [](const TextFile& file) {
        return file.path == "/proc/driver/nvidia/version";
    }));
}

TEST(RecordingTest, FollowsNoLinkOfAFolder)
{
    const test::TempRoot root;
    std::filesystem::create_symlink(
        GPUCTR_TEST_SOURCE_DIR "/hosts/h200-x8-ubuntu24.04-580/files.tsv", root.at("files.tsv"));

    EXPECT_FALSE(read_trusted(root.at("").string()));
}

TEST(TreeTest, FollowsNoLink)
{
    const test::TempRoot root;
    std::filesystem::create_directories(root.at("tree/a/b"));
    std::filesystem::create_directories(root.at("outside/b"));
    Tree tree(base::UniqueFd(::open(root.at("tree").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
    ASSERT_TRUE(tree.file("a/b/c", ""));
    std::filesystem::remove_all(root.at("tree/a"));
    std::filesystem::create_symlink("../outside", root.at("tree/a"));
    ASSERT_TRUE(tree.file("d/e", "")); // another directory is open

    EXPECT_FALSE(tree.file("a/b/c", ""));
    EXPECT_FALSE(tree.file("../outside/x", ""));
    EXPECT_TRUE(std::filesystem::is_empty(root.at("outside/b")));
}

TEST(RecordingTest, SaysWhichFileIsMissing)
{
    EXPECT_EQ(problem(read_trusted("/proc/self/fd")),
              "/proc/self/fd: files.tsv: No such file or directory");
}

} // namespace
} // namespace gpucontainer::simhost
