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
    for (const std::string text : {"0000:3b:00.0",
                                   "libcuda.so.580.95.05",
                                   "c 195:255",
                                   "/dev/nvidia0",
                                   "abc827fa3-8239-9aa5-d1ff-cd2c2f85b066",
                                   "bc827fa3-8239-9aa5-d1ff-cd2c2f85b0661",
                                   "00:11:22:33:44",
                                   "00:11:22:33:44:556",
                                   "/home/",
                                   "/homes/alice",
                                   "",
                                   "\xff\x01",
                                   "00000000-0000-0000-0000-000000000000",
                                   "FFFFFFFF-ffff-ffff-ffff-ffffffffffff",
                                   "00000000000000000000000000000000",
                                   "ff:ff:ff:ff:ff:ff",
                                   "/usr/share/terminfo/u/xterm",
                                   "bc827fa382399aa5d1ffcd2c2f85b06611111111", // a build id
                                   "xbc827fa382399aa5d1ffcd2c2f85b066",
                                   "bc827fa382399aa5d1ffcd2c2f85b066g",
                                   "GPU-1",
                                   "GPU-bc827",
                                   "10.1.2.3 fe80::1:2 user-1000.slice /job_1"})
        EXPECT_EQ(replacements.in(text), text);
    EXPECT_THAT(replacements.summary(), IsEmpty());
}

TEST(ReplacementsTest, AddressesOfNetworkCards)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.in("link a4:bf:01:6e:00:2D up"), "link 02:00:00:00:00:01 up");
}

TEST(ReplacementsTest, AddressesOfInfiniBandAreReplacedAsAWhole)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.in("00:11:22:33:44:55:66:77 mac:a4:bf:01:6e:00:2d: x"),
              "02:00:00:00:00:00:00:01 mac:02:00:00:00:00:02: x");
    EXPECT_THAT(replacements.summary(), ElementsAre("2 MAC addresses"));
}

TEST(ReplacementsTest, AUuidWithoutDashesIsTheSameOne)
{
    Replacements replacements(false);
    const std::string plain = "bc827fa382399aa5d1ffcd2c2f85b066";

    EXPECT_EQ(replacements.in("pod" + plain + " /ecs/" + plain + "/" + plain + "-3221225472 GPU-"
                              + plain + " " + uuid),
              "pod00000001000040008000000000000000 /ecs/00000001000040008000000000000000/"
              "00000001000040008000000000000000-3221225472 GPU-00000001000040008000000000000000 "
              "00000001-0000-4000-8000-000000000000");
}

TEST(ReplacementsTest, TheBeginningOfAUuidStillNamesTheSameGpu)
{
    Replacements replacements(false);
    replacements.in("GPU-11111111-2222-3333-4444-555555555555 GPU-bc111111-2222-3333-4444-"
                    "555555555555");
    replacements.in(uuid);

    EXPECT_EQ(replacements.in("A=GPU-bc827fa3,GPU-BC82,MIG-bc827fa3-8239-9a"),
              "A=GPU-00000003,GPU-00000003,MIG-00000003-0000-40");
    EXPECT_EQ(replacements.in("GPU-bc"), "GPU-0000000") << "ambiguous, as it was";
    EXPECT_EQ(replacements.in("GPU-cccccccc GPU-cccccccc-1"), "GPU-00000004 GPU-00000005-0")
        << "of no GPU of this host";
    EXPECT_EQ(replacements.in("xGPU-bc827fa3 GPU-bc827fa3x"), "xGPU-bc827fa3 GPU-bc827fa3x");
}

TEST(ReplacementsTest, AddressesInSettings)
{
    Replacements replacements(false);
    const auto in = [&](std::string_view text) {
        return replacements.in(text, Replacements::Text::settings);
    };

    EXPECT_EQ(in("A=10.1.2.3,http://10.1.2.4:80 nfs:10.1.2.3. [fe80::1:2]:22 2001:db8:1::2,x"),
              "A=198.18.0.1,http://198.18.0.2:80 nfs:198.18.0.1. [2001:db8::3]:22 2001:db8::4,x");
    for (const std::string text :
         {"580.159.04", "1.2.3", "1.2.3.4.5", "1.2.3.256", "10.1.2.3a", "4.18.0-80.1.2.3",
          "/opt/driver/4.18.0.1/lib", "127.0.0.1", "0.0.0.0", "::1", "0::/a", "0000:3b:00.0",
          "vfio_pci.ids=10de:2330,10de:2331", "pci:8086:9c22:0:0"})
        EXPECT_EQ(in(text), text);
    EXPECT_THAT(replacements.summary(), ElementsAre("4 IP addresses"));
}

TEST(ReplacementsTest, NumbersOfUsersAndJobsInControlGroups)
{
    Replacements replacements(false);
    const auto in = [&](std::string_view text) {
        return replacements.in(text, Replacements::Text::groups);
    };

    EXPECT_EQ(in("4:devices:/slurm/uid_20123/job_998877/step_0\n0::/user.slice/user-20123.slice/"
                 "user@20123.service/10.1.2.3"),
              "4:devices:/slurm/uid_1/job_1/step_0\n0::/user.slice/user-1.slice/"
              "user@1.service/10.1.2.3");
    EXPECT_EQ(in("/user-0.slice /job_1a"), "/user-0.slice /job_1a");
    EXPECT_THAT(replacements.summary(), ElementsAre("1 number of a user", "1 number of a job"));
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

TEST(ReplacementsTest, DirectoriesOfUsersElsewhere)
{
    Replacements replacements(false);

    EXPECT_EQ(replacements.in("/lustre/users/alice/lib:/u/bob/lib /users/"),
              "/lustre/users/user1/lib:/u/user2/lib /users/");
}

TEST(ReplacementsTest, NamesInAnyCase)
{
    Replacements replacements(false);
    replacements.add_host_name("GPU17.example.org");
    replacements.add_user_name("Grace");

    EXPECT_EQ(replacements.in("gpu17 Gpu17.Example.org grace GRACE /home/graCe"),
              "host host user1 user1 /home/user1");
}

TEST(ReplacementsTest, TheDomainAndItsOtherHosts)
{
    Replacements replacements(false);
    replacements.add_host_name("gpu017.cluster.example.org");
    replacements.add_domain("(none)");
    replacements.add_domain("local");

    EXPECT_EQ(replacements.in("gpu018.Cluster.example.org,cluster.example.org, gpu017 "
                              "x@gpu018.cluster.example.org:1 /usr/local"),
              "host2,domain, host x@host2:1 /usr/local");
    EXPECT_THAT(replacements.summary(), ElementsAre("2 names of hosts", "1 name of a domain"));
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
    replacements.add_domain("example.org");
    std::string text;
    while (text.size() < 4'000'000)
        text += "g.-";

    EXPECT_EQ(replacements.in(text), text);
    for (const char* part : {"a.", "aa:", "1.", ":", "GPU-"}) {
        text.clear();
        while (text.size() < 400'000)
            text += part;
        EXPECT_EQ(replacements.in("x" + text, Replacements::Text::groups).size(), text.size() + 1);
    }
}

} // namespace
} // namespace gpucontainer::capture
