// SPDX-License-Identifier: MIT
#include "capture/replacements.hpp"

#include <gmock/gmock.h>

#include <string>

namespace gpucontainer::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* uuid = "bc827fa3-8239-9aa5-d1ff-cd2c2f85b066";

TEST(ReplacementsTest, TheSameValueHasTheSameReplacement)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.in(std::string("GPU-") + uuid + " 11111111-2222-3333-4444-555555555555"),
              "GPU-00000001-0000-4000-8000-000000000000 00000002-0000-4000-8000-000000000000");
    EXPECT_EQ(replacements.in("BC827FA3-8239-9AA5-D1FF-CD2C2F85B066"),
              "00000001-0000-4000-8000-000000000000");
    EXPECT_THAT(replacements.summary(), ElementsAre("2 UUIDs"));
}

TEST(ReplacementsTest, WhatIdentifiesNobodyStays)
{
    Replacements replacements(false);
    for (const std::string text :
         {"0000:3b:00.0", "libcuda.so.580.95.05", "c 195:255", "/dev/nvidia0",
          "abc827fa3-8239-9aa5-d1ff-cd2c2f85b066", "bc827fa3-8239-9aa5-d1ff-cd2c2f85b0661",
          "00:11:22:33:44", "00:11:22:33:44:556", "/home/", "/homes/alice", "", "\xff\x01"})
        EXPECT_EQ(replacements.in(text), text);
    EXPECT_THAT(replacements.summary(), IsEmpty());
}

TEST(ReplacementsTest, AddressesOfNetworkCards)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.in("link a4:bf:01:6e:00:2D up"), "link 02:00:00:00:00:01 up");
}

TEST(ReplacementsTest, ContainersAndPodsInNamesOfControlGroups)
{
    Replacements replacements(false);
    const std::string container(64, 'c');

    EXPECT_EQ(replacements.in("0::/kubepods-podBC827FA3_8239_9aa5_d1ff_cd2c2f85b066.slice/docker-"
                              + container + ".scope " + uuid),
              "0::/kubepods-pod00000001_0000_4000_8000_000000000000.slice/docker-"
                  + std::string(63, '0') + "1.scope 00000001-0000-4000-8000-000000000000");
    EXPECT_EQ(replacements.in(container + "c"), container + "c");
    EXPECT_THAT(replacements.summary(), ElementsAre("1 UUID", "1 container id"));
}

TEST(ReplacementsTest, UsersAndTheirDirectories)
{
    Replacements replacements(false);
    replacements.add_user_name("grace.hopper");

    EXPECT_EQ(replacements.in("/home/grace.hopper/lib:/home/alice/lib grace.hopper"),
              "/home/user1/lib:/home/user2/lib user1");
    EXPECT_EQ(replacements.in("xgrace.hopper grace.hopperx"), "xgrace.hopper grace.hopperx");
}

TEST(ReplacementsTest, TheHostByItsWholeAndItsShortName)
{
    Replacements replacements(false);
    replacements.add_host_name("gpu17.example.org");

    EXPECT_EQ(replacements.in("gpu17 gpu17.example.org gpu170 /usr/lib/gpu17.so"),
              "host host gpu170 /usr/lib/host.so");
}

TEST(ReplacementsTest, CommonAndShortNamesStay)
{
    Replacements replacements(false);
    for (const char* name : {"localhost", "root", "ab", "", "12345"}) {
        replacements.add_host_name(name);
        replacements.add_user_name(name);
    }

    EXPECT_EQ(replacements.in("localhost root ab 12345"), "localhost root ab 12345");
}

TEST(ReplacementsTest, SerialNumbersKeepTheirForm)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.serial("0x1c2d-AB07\n"), "0x0000-0001\n");
    EXPECT_EQ(replacements.in("serial 0x1c2d-AB07."), "serial 0x0000-0001.");
    EXPECT_EQ(replacements.serial("\n"), "\n");
    EXPECT_EQ(replacements.serial("0000000000000000"), "0000000000000000") << "none at all";
}

TEST(ReplacementsTest, ANumberIsTheSameInBothOfItsForms)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.number("2030347517554293761"), "1"); // 0x1c2d3e4f5a6b7c01
    EXPECT_EQ(replacements.in("GPU-1c2d3e4f5a6b7c01"), "GPU-0000000000000001");
    EXPECT_EQ(replacements.number("0"), "0");
    EXPECT_EQ(replacements.number("x"), "x");
}

TEST(ReplacementsTest, NothingIsReplacedIfNothingShallBe)
{
    Replacements replacements(true);
    replacements.add_host_name("gpu17");

    EXPECT_EQ(replacements.in(std::string(uuid) + " gpu17 /home/alice"),
              std::string(uuid) + " gpu17 /home/alice");
    EXPECT_EQ(replacements.serial("123"), "123");
    EXPECT_EQ(replacements.number("123"), "123");
    EXPECT_THAT(replacements.summary(), IsEmpty());
}

TEST(ReplacementsTest, LongTextsTakeNoLongTime)
{
    Replacements replacements(false);
    replacements.add_host_name("gpu17");
    std::string text;
    while (text.size() < 4'000'000)
        text += "g.-";

    EXPECT_EQ(replacements.in(text), text);
}

} // namespace
} // namespace gpucontainer::capture
