// SPDX-License-Identifier: MIT
#include "config/settings.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string problem_with(std::string_view text)
{
    const auto settings = parse_settings(text);
    return settings ? "no error" : settings.error().message();
}

TEST(Settings, AreKeysAndValuesWithTheirLines)
{
    const auto settings =
        parse_settings("# site\ndriver-root: /run/nvidia/driver\n\nallowed-devices: [0, '1']\n"
                       "catalogue:\n  - /a\n  - /b\n");

    ASSERT_TRUE(settings) << settings.error().message();
    std::vector<std::string> texts;
    for (const Setting& setting : *settings)
        texts.push_back(fmt::format("{}: {}={}", setting.line, setting.key, setting.value));
    EXPECT_THAT(texts, ElementsAre("2: driver-root=/run/nvidia/driver", "4: allowed-devices=0",
                                   "4: allowed-devices=1", "5: catalogue=/a", "5: catalogue=/b"));
}

TEST(Settings, MayBeNone)
{
    for (const std::string_view text : {"", "\n", "# nothing\n  # here\n"}) {
        const auto settings = parse_settings(text);
        ASSERT_TRUE(settings) << text << settings.error().message();
        EXPECT_THAT(*settings, IsEmpty());
    }
}

TEST(Settings, NameTheLineOfAMistake)
{
    EXPECT_EQ(problem_with("- a\n"), "line 1: no map of keys and values");
    EXPECT_EQ(problem_with("nv: true\nnv: false\n"), "line 2: key nv is repeated");
    EXPECT_EQ(problem_with("nv: true\ndevice:\n"), "line 2: device is empty");
    EXPECT_EQ(problem_with("allowed-devices: []\n"), "line 1: allowed-devices is an empty list");
    EXPECT_EQ(problem_with("device:\n  a: 1\n"), "line 1: device is neither a value nor a list");
    EXPECT_EQ(problem_with("device: [[0]]\n"), "line 1: device is neither a value nor a list");
    EXPECT_EQ(problem_with("Device: 1\n"), "line 1: a key has other characters than a-z and -");
    EXPECT_EQ(problem_with("device: \"a\\0b\"\n"), "line 1: device has a null character in it");
    EXPECT_EQ(problem_with("device: [0\n"), "line 2: end of sequence flow not found");
}

} // namespace
} // namespace gpucontainer::config
