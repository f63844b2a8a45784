// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "config/yaml_document.hpp"

#include <gmock/gmock.h>

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
    const auto read = parse_yaml("# comment\nversion: 1.10\nlist: [no, 'a: b', ~]\n");

    ASSERT_TRUE(read) << read.error().message();
    const auto& document = *read;
    ASSERT_TRUE(document);
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
    // Later versions of yaml-cpp name it.
    EXPECT_THAT(problem_with("a: 1\nb: *x\n"),
                ::testing::StartsWith("line 2: the referenced anchor is not defined"));
    EXPECT_EQ(problem_with("a: 1\nb: !!int 2\n"), "line 2: tags are not allowed");
    EXPECT_EQ(problem_with("a: !mine [1]\n"), "line 1: tags are not allowed");
    EXPECT_EQ(problem_with("a: 1\n---\nb: 2\n"),
              "line 2: a second document begins here (allowed: one)");
    for (const char* text : {"%YAML 1.2\n", "\xef\xbb\xbf%a: b\n"})
        EXPECT_EQ(problem_with(text), "line 1: '%' at the beginning of a line is not allowed");
    EXPECT_EQ(problem_with("a: b\n...\n%c: d\n"),
              "line 3: '%' at the beginning of a line is not allowed");
}

TEST(YamlDocument, MayBeNone)
{
    for (const std::string_view text : {"", "\n", "# nothing\n\t# here\r\n"}) {
        const auto document = parse_yaml(text);
        ASSERT_TRUE(document) << text << document.error().message();
        EXPECT_FALSE(*document) << text;
    }
}

TEST(YamlDocument, RefusesWhatMayEndALineOrMayNot)
{
    const std::string allowed = " (allowed: tabs, and LF or CR LF at the end of a line)";
    const auto is_refused = [&](std::string_view character, std::string_view code) {
        const std::string problem = "control character " + std::string(code) + allowed;
        for (const std::string_view before : {"# a", "a: b # c", "a: b", "a: \"b", ""}) {
            const std::string text = base::format("\n{}{}c: d\n", before, character);
            EXPECT_EQ(problem_with(text), "line 2: " + problem) << text;
        }
        EXPECT_EQ(problem_with(character), "line 1: " + problem);
    };
    is_refused("\r", "U+000D");
    is_refused("\r\r\n", "U+000D");
    is_refused(std::string_view("\0", 1), "U+0000");
    is_refused("\x04", "U+0004");
    is_refused("\v", "U+000B");
    is_refused("\f", "U+000C");
    is_refused("\x1f", "U+001F");
    is_refused("\x7f", "U+007F");
    is_refused("\u0080", "U+0080");
    is_refused("\u0085", "U+0085");
    is_refused("\u009f", "U+009F");
    is_refused("\u2028", "U+2028");
    is_refused("\u2029", "U+2029");
    for (const std::string_view text :
         {"# a\r\nb: c\r\n", "a:\tb\t# c\n", "a: \u00a0\u2027\u202a\n", "a: \xc2\n", "a: \xe2\x80"})
        EXPECT_EQ(problem_with(text), "") << text;
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
