// SPDX-License-Identifier: MIT
#include "config/yaml_document.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::config {
namespace {

std::string problem_with(std::string_view text)
{
    const auto document = parse_yaml(text);
    return document ? "" : document.error().message();
}

std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

TEST(YamlDocument, KeepsValuesAsTheyWereWritten)
{
    const auto document = parse_yaml("# comment\nversion: 1.10\nlist: [no, 'a: b', ~]\n");

    ASSERT_TRUE(document) << document.error().message();
    EXPECT_EQ(document->kind, YamlValue::Kind::map);
    ASSERT_EQ(document->items.size(), 4U);
    EXPECT_EQ(document->items[0].text, "version");
    EXPECT_EQ(document->items[1].text, "1.10");
    EXPECT_EQ(document->items[1].line, 2U);
    const YamlValue& list = document->items[3];
    EXPECT_EQ(list.kind, YamlValue::Kind::list);
    EXPECT_EQ(list.line, 3U);
    ASSERT_EQ(list.items.size(), 3U);
    EXPECT_EQ(list.items[0].text, "no");
    EXPECT_EQ(list.items[1].text, "a: b");
    EXPECT_EQ(list.items[2].text, "");
}

TEST(YamlDocument, SaysWhereTheSyntaxIsWrong)
{
    EXPECT_EQ(problem_with("a: 1\nb: [1, 2\n"), "line 3: end of sequence flow not found");
    EXPECT_EQ(problem_with("a: 1\n  b: 2\n"), "line 2: illegal map value");
}

TEST(YamlDocument, RefusesWhatNoFileOfOursNeeds)
{
    EXPECT_EQ(problem_with("a: &x 1\n"), "line 1: anchors are not allowed");
    EXPECT_EQ(problem_with("a: 1\nb: *x\n"), "line 2: the referenced anchor is not defined");
    EXPECT_EQ(problem_with("a: 1\nb: !!int 2\n"), "line 2: tags are not allowed");
    EXPECT_EQ(problem_with("a: !mine [1]\n"), "line 1: tags are not allowed");
    EXPECT_EQ(problem_with("a: 1\n---\nb: 2\n"),
              "line 2: a second document begins here (allowed: one)");
    EXPECT_EQ(problem_with(""), "no content");
    EXPECT_EQ(problem_with("# nothing\n"), "no content");
}

TEST(YamlDocument, BoundsTheNesting)
{
    const std::string eight = repeated("[", 8) + repeated("]", 8);

    EXPECT_EQ(problem_with(eight), "");
    EXPECT_EQ(problem_with("[" + eight + "]"), "line 1: more than 8 levels");
    EXPECT_EQ(problem_with(repeated("[", 200'000)), "line 1: more than 8 levels");
    EXPECT_EQ(problem_with(repeated("{a: ", 50'000)), "line 1: more than 8 levels");
    EXPECT_EQ(problem_with(repeated("- ", 100'000)), "line 1: more than 8 levels");
    EXPECT_EQ(problem_with(repeated("? ", 100'000)), "line 1: more than 8 levels");
}

TEST(YamlDocument, BoundsTheSize)
{
    EXPECT_EQ(problem_with(repeated("# 34567\n", 1UL << 15U) + "a"), "larger than 262144 bytes");
    EXPECT_EQ(problem_with("[" + repeated("1,", 50'000) + "]"), "line 1: more than 50000 values");
}

} // namespace
} // namespace gpucontainer::config
