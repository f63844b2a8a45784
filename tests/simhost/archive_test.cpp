// SPDX-License-Identifier: MIT
#include "archive.hpp"

#include "base/format.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>

namespace gpucontainer::simhost {
namespace {

constexpr std::size_t block = 512;

std::string with_checksum(std::string header)
{
    header.replace(148, 8, "        ");
    const unsigned sum =
        std::accumulate(header.begin(), header.end(), 0U,
                        [](unsigned all, char c) { return all + static_cast<unsigned char>(c); });
    return header.replace(148, 8, base::format("{:06o}", sum) + std::string("\0 ", 2));
}

std::string header_of(const std::string& name, const std::string& size, char type = '0')
{
    std::string header(block, '\0');
    header.replace(0, name.size(), name);
    header.replace(124, size.size(), size);
    header[156] = type;
    header.replace(257, 5, "ustar");
    return with_checksum(header);
}

std::string member(const std::string& name, const std::string& content, char type = '0')
{
    std::string bytes = header_of(name, base::format("{:011o}", content.size()), type) + content;
    bytes.resize((bytes.size() + block - 1) / block * block);
    return bytes;
}

const std::string table = member("files.tsv", "#path\n");
const std::string end = std::string(2 * block, '\0');

std::string problem(const std::string& bytes)
{
    const auto read = read_archive(bytes);
    return read ? "" : read.error().message();
}

TEST(ArchiveTest, ReadsFilesByTheirNames)
{
    std::string split = header_of("version", base::format("{:011o}", 4));
    split.replace(345, 18, "proc/driver/nvidia");
    split = with_checksum(split) + "580\n" + std::string(block - 4, '\0');

    const auto read =
        read_archive(member("./", "", '5') + table + member("./dev.txt", "") + split + end);

    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, (Members{{"files.tsv", "#path\n"},
                              {"dev.txt", ""},
                              {"proc/driver/nvidia/version", "580\n"}}));
}

TEST(ArchiveTest, RefusesNamesThatNoRecordedHostHas)
{
    for (const char* name : {"../files.tsv", "/etc/passwd", "proc/../../etc/passwd", "evil", "proc",
                             "content//x", "sys/./x", "list.json/x", ""})
        EXPECT_EQ(problem(table + member(name, "x")),
                  base::format("'{}' is in no recorded host", name));
}

TEST(ArchiveTest, RefusesWhatIsNoPlainFile)
{
    for (const char type : {'1', '2', '3', '4', '6', '7', 'x', 'g', 'L', 'S'})
        EXPECT_EQ(problem(table + member("proc/devices", "", type)),
                  "'proc/devices' is no plain file");
}

TEST(ArchiveTest, RefusesDamagedArchives)
{
    const std::string no_archive = "no tar archive of a recorded host";
    EXPECT_EQ(problem(""), no_archive);
    EXPECT_EQ(problem(std::string(block, 'x')), no_archive);
    EXPECT_EQ(problem(end), no_archive);
    EXPECT_EQ(problem(member("dev.txt", "") + end), no_archive);
    std::string wrong_sum = table;
    wrong_sum[0] = 'F';
    EXPECT_EQ(problem(wrong_sum), no_archive);
    EXPECT_EQ(problem(table + header_of("dev.txt", "00000001000")), "the archive is cut off");
    for (const char* size : {"77777777777", "-1", "9", "\x80zzzzzzzz", "1x"})
        EXPECT_EQ(problem(table + header_of("dev.txt", size)), "a member has no usable size");
}

} // namespace
} // namespace gpucontainer::simhost
