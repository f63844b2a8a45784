// SPDX-License-Identifier: MIT
#include "cgroup/membership.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cgroup {
namespace {

TEST(Membership, IsThatOfBothHierarchies)
{
    const Membership found = parse_membership("13:freezer:/f\n5:devices:/docker/1a\n4:memory:/m\n"
                                              "1:name=systemd:/s\n0::/system.slice/x.scope\n");

    EXPECT_EQ(found.unified, "/system.slice/x.scope");
    EXPECT_EQ(found.devices, "/docker/1a");
    EXPECT_TRUE(found.devices_alone);
}

TEST(Membership, TellsControllersThatShareAHierarchy)
{
    EXPECT_EQ(parse_membership("3:cpu,devices,freezer:/a\n"), (Membership{{}, "/a", false}));
    EXPECT_EQ(parse_membership("3:devices,devices:/a\n"), (Membership{{}, "/a", false}));
}

TEST(Membership, TakesPathsAsTheyAre)
{
    EXPECT_EQ(parse_membership("0::/").unified, "/");
    EXPECT_EQ(parse_membership("0::/a:b c/0::/x (deleted)\n").unified, "/a:b c/0::/x (deleted)");
    EXPECT_EQ(parse_membership("0::/../../b\n").unified, "/../../b");
}

TEST(Membership, IsNoneForOtherLines)
{
    for (const char* const text :
         {"", "\n\n", "0:", "0::", "0::a", "0:devices", "::/a", "x::/a", "1::/a", "0:name=x:/a",
          ":devices:/a", "-1:devices:/a", "4:device:/a", "4:name=devices:/a", "4: devices:/a"})
        EXPECT_EQ(parse_membership(text), Membership()) << text;
    EXPECT_EQ(parse_membership(std::string_view("0::/a\0b\n", 8)), Membership());
}

TEST(Membership, IsTheFirstOfItsKind)
{
    EXPECT_EQ(parse_membership("0::/a\n0::/b\n1:devices:/c\n2:devices,x:/d\n"),
              (Membership{"/a", "/c", true}));
}

} // namespace
} // namespace gpucontainer::cgroup
