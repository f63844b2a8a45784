// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "drivers/nvidia/tegra_csv.hpp"

#include <climits>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = TegraRow::Kind;

std::vector<TegraRow> rows(std::string_view text)
{
    const TegraRows found = parse_tegra_csv(text);
    EXPECT_THAT(found.complaints, IsEmpty());
    return found.rows;
}

/// "LINE: REASON" of each row that was not read; there has to be no other.
std::vector<std::string> complaints(std::string_view text)
{
    const TegraRows found = parse_tegra_csv(text);
    EXPECT_THAT(found.rows, IsEmpty());
    std::vector<std::string> all;
    for (const TegraComplaint& complaint : found.complaints)
        all.push_back(base::format("{}: {}", complaint.line, complaint.reason));
    return all;
}

TEST(TegraCsvTest, ReadsEachKindOfRow)
{
    EXPECT_THAT(rows("dev, /dev/nvhost-gpu\ndir, /usr/share/nvidia\n"
                     "lib, /usr/lib/libcuda.so.1.1\nsym, /usr/lib/libcuda.so\n"),
                ElementsAre(TegraRow{Kind::device, "/dev/nvhost-gpu", 1},
                            TegraRow{Kind::directory, "/usr/share/nvidia", 2},
                            TegraRow{Kind::library, "/usr/lib/libcuda.so.1.1", 3},
                            TegraRow{Kind::link, "/usr/lib/libcuda.so", 4}));
}

TEST(TegraCsvTest, HasNothingToSayOfAnEmptyFile)
{
    EXPECT_THAT(rows(""), IsEmpty());
    EXPECT_THAT(rows("\n \n\t\r\n"), IsEmpty());
}

TEST(TegraCsvTest, DoesNotHeedBlanksAndComments)
{
    EXPECT_THAT(
        rows("  # lib, /a\n\n\tlib ,\t/a.so \r\nlib,/b.so"),
        ElementsAre(TegraRow{Kind::library, "/a.so", 3}, TegraRow{Kind::library, "/b.so", 4}));
}

TEST(TegraCsvTest, LeavesPatternsAndCommasInPaths)
{
    EXPECT_THAT(rows("lib, /usr/lib/*/lib?.so\nlib, /a,b"),
                ElementsAre(TegraRow{Kind::library, "/usr/lib/*/lib?.so", 1},
                            TegraRow{Kind::library, "/a,b", 2}));
}

TEST(TegraCsvTest, MakesPathsPlain)
{
    EXPECT_THAT(rows("dir, //usr/./share//nvidia/"),
                ElementsAre(TegraRow{Kind::directory, "/usr/share/nvidia", 1}));
}

TEST(TegraCsvTest, KnowsNodesWithoutTheirDirectory)
{
    EXPECT_THAT(rows("dev, nvhost-gpu\ndev, nvgpu/igpu0/as\ndev, ./nvmap"),
                ElementsAre(TegraRow{Kind::device, "/dev/nvhost-gpu", 1},
                            TegraRow{Kind::device, "/dev/nvgpu/igpu0/as", 2},
                            TegraRow{Kind::device, "/dev/nvmap", 3}));
}

TEST(TegraCsvTest, ComplainsOfTypesThatItDoesNotKnow)
{
    EXPECT_THAT(complaints("foo, /a\nLIB, /a\n/usr/lib/a.so\n, /a\nb\x1bz\xffz, /a"),
                ElementsAre("1: unknown type 'foo'", "2: unknown type 'LIB'",
                            "3: unknown type '/usr/lib/a.so'", "4: unknown type ''",
                            "5: unknown type 'b?z?z'"));
}

TEST(TegraCsvTest, ComplainsOfRowsWithoutAPath)
{
    EXPECT_THAT(complaints("lib\ndev,\nsym ,  "),
                ElementsAre("1: no path", "2: no path", "3: no path"));
}

TEST(TegraCsvTest, ComplainsOfPathsThatLeadElsewhere)
{
    EXPECT_THAT(complaints("lib, usr/a.so\nlib, /usr/../a.so\ndev, ../etc/shadow\nlib, /.."),
                ElementsAre("1: a path that is not absolute", "2: a path with .. in it",
                            "3: a path with .. in it", "4: a path with .. in it"));
}

TEST(TegraCsvTest, ComplainsOfNodesElsewhere)
{
    EXPECT_THAT(complaints("dev, /dev\ndev, /device/a\ndev, /etc/a\ndev, ."),
                ElementsAre("1: a device node that is not below /dev",
                            "2: a device node that is not below /dev",
                            "3: a device node that is not below /dev", "4: a path without a name"));
}

TEST(TegraCsvTest, ComplainsOfWhatIsNoPath)
{
    using namespace std::string_literals;

    EXPECT_THAT(complaints("dir, /\nlib, /a\0b\nlib, /a\x1b[2J\nlib, /a /\n"s),
                ElementsAre("1: a path without a name", "2: a path with a control character in it",
                            "3: a path with a control character in it",
                            "4: a path that ends in white space"));
    EXPECT_THAT(complaints("lib, /" + std::string(NAME_MAX + 1, 'a')),
                ElementsAre("1: a path with a name that is too long"));
    std::string longest;
    while (longest.size() < PATH_MAX)
        longest += "/" + std::string(NAME_MAX, 'a');
    EXPECT_THAT(complaints("lib, " + longest), ElementsAre("1: a path that is too long"));
}

TEST(TegraCsvTest, LosesNoMoreThanTheRowThatIsBad)
{
    const TegraRows found = parse_tegra_csv("lib, /a.so\nfoo\nlib, /b.so\n");

    EXPECT_THAT(found.rows, SizeIs(2));
    EXPECT_THAT(found.complaints, SizeIs(1));
}

TEST(TegraCsvTest, EndsAfterTooManyRows)
{
    std::string text;
    for (int i = 0; i < 5000; ++i)
        text += "lib, /a.so\n";

    const TegraRows found = parse_tegra_csv(text);

    EXPECT_THAT(found.rows, SizeIs(4096));
    ASSERT_THAT(found.complaints, SizeIs(1));
    EXPECT_EQ(found.complaints[0].line, 4097U);
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
