// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "config/settings.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string problem_with(std::string_view text)
{
    const auto settings = parse_settings(text, "file");
    return settings ? "no error" : settings.error().message();
}

/// One line for a value or a mistake.
std::vector<std::string> read(std::string_view text)
{
    const auto settings = parse_settings(text, "file");
    if (!settings)
        return {settings.error().message()};
    std::vector<std::string> texts;
    for (const Setting& setting : *settings)
        texts.push_back(setting.mistake.empty()
                            ? base::format("{}: {}{}{}", setting.line, setting.key,
                                           setting.in_list ? " has " : "=", setting.value)
                            : setting.mistake);
    return texts;
}

bool concerns_policy(std::string_view text)
{
    const auto settings = parse_settings(text, "file");
    return settings && std::ranges::any_of(*settings, &Setting::concerns_policy);
}

TEST(Settings, AreKeysAndValuesWithTheirLines)
{
    EXPECT_THAT(read("# site\ndriver-root: /run/nvidia/driver\n\nallowed-devices: [0, '1']\n"
                     "catalogue:\n  - /a\n  - /b\n"),
                ElementsAre("2: driver-root=/run/nvidia/driver", "4: allowed-devices has 0",
                            "4: allowed-devices has 1", "5: catalogue has /a",
                            "5: catalogue has /b"));
}

TEST(Settings, MayBeNone)
{
    for (const std::string_view text : {"", "\n", "# nothing\n  # here\n"}) {
        const auto settings = parse_settings(text, "file");
        ASSERT_TRUE(settings) << text << settings.error().message();
        EXPECT_THAT(*settings, IsEmpty());
    }
}

TEST(Settings, FailWhereNoKeyCanBeToldFromAnother)
{
    EXPECT_EQ(problem_with("- a\n"), "file:1: no map of keys and values");
    EXPECT_EQ(problem_with("device\n"), "file:1: no map of keys and values");
    EXPECT_EQ(problem_with("nv: true\ndevice: [0\n"), "file:3: end of sequence flow not found");
    EXPECT_EQ(problem_with("nv: &a true\n"), "file:1: anchors are not allowed");
    for (const std::string_view text :
         {"# policy\rrestricted: true\nnv: true\n", "nv: true # a\rrestricted: true\n",
          "# a\rrestricted: true\n", "# a\rrestricted: true"})
        EXPECT_THAT(problem_with(text), StartsWith("file:1: control character U+000D "));
}

TEST(Settings, HaveAMistakeInItsPlace)
{
    EXPECT_THAT(read("nv: true\ndevice:\nlock: true\n"),
                ElementsAre("1: nv=true",
                            "file:2: device: no value: a key has one, or a list of them",
                            "3: lock=true"));
    const std::string unknown = ": unknown key: keys have the characters a-z and - alone";
    for (const std::string key : {"Device", "a_b", "a b", "föö", "1", "~a"})
        EXPECT_THAT(read(key + ": 1\n"), ElementsAre(base::format("file:1: {}{}", key, unknown)));
    EXPECT_THAT(read("~: 1\n"), ElementsAre("file:1: an empty key"));
    EXPECT_THAT(read("[a]: 1\n{b: c}: 1\n"),
                ElementsAre("file:1: a list or a map in place of a key",
                            "file:2: a list or a map in place of a key"));
    EXPECT_THAT(read("device: []\n"),
                ElementsAre("file:1: device: an empty list: a key has one value or more"));
    EXPECT_THAT(read("device:\n  a: 1\n"),
                ElementsAre("file:1: device: neither a value nor a list of values"));
    EXPECT_THAT(read("device: [0, [1]]\n"),
                ElementsAre("file:1: device: a list in a list: a key has a list of values"));
    EXPECT_THAT(read("device: [0, '']\n"),
                ElementsAre("file:1: device: no value: a key has one, or a list of them"));
    EXPECT_THAT(read("device: \"a\\0b\"\n"),
                ElementsAre("file:1: device: a null character in the value"));
    EXPECT_THAT(read("\"a\\nb\\0\": 1\n"), ElementsAre("file:1: a?b?" + unknown));
}

TEST(Settings, HaveNoValueOfAKeyThatIsRepeated)
{
    EXPECT_THAT(read("nv: true\ndevice: [0, 1]\nnv: false\nnv: true\n"),
                ElementsAre("2: device has 0", "2: device has 1",
                            "file:3: nv: repeated, line 1 has it too",
                            "file:4: nv: repeated, line 1 has it too"));
}

TEST(Settings, SayWhatMayConcernThePolicy)
{
    for (const std::string_view text :
         {"Restricted: true\n", "restriced: true\n", "allowed_devices: 0\n", "restricted:\n",
          "allowed-devices: []\n", "restricted: true\nrestricted: false\n",
          "policy: {restricted: true}\n", "policy:\n  - restricted: true\n", "[restricted]: true\n",
          "? restricted\n", "<<: {allowed-devices: 0}\n", "device: {restricted: true}\ndevice: 0\n",
          "\"restricted\\0\": 1\n"})
        EXPECT_TRUE(concerns_policy(text)) << text;
    for (const std::string_view text :
         {"Device: 0\n", "nv: true\nnv: true\n", "föö: [restricted]\n", "device: {a: b}\n",
          "[a]: 1\n", "allow-setuid: true\n", "restricted: true\n"})
        EXPECT_FALSE(concerns_policy(text)) << text;
    EXPECT_THAT(read("alowed-devices: 0\n"),
                ElementsAre("file:1: alowed-devices: unknown key, which may be meant for "
                            "allowed-devices"));
}

} // namespace
} // namespace gpucontainer::config
