// SPDX-License-Identifier: MIT
#include "base/text.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::base {
namespace {

TEST(Text, TrimsBothEnds)
{
    EXPECT_EQ(trim("\t 580.159.04 \n"), "580.159.04");
    EXPECT_EQ(trim(" \n"), "");
}

TEST(Text, SplitKeepsEmptyParts)
{
    EXPECT_EQ(split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Text, TerminalsObeyControlCharacters)
{
    for (const char c : {'\0', '\n', '\x1b', '\x1f', '\x7f'})
        EXPECT_TRUE(is_control(c)) << static_cast<int>(c);
    for (const char c : {' ', 'a', '~', '\xc3'})
        EXPECT_FALSE(is_control(c)) << static_cast<int>(c);
}

TEST(Text, NumbersAreWholeOrNothing)
{
    EXPECT_EQ(to_number("17"), 17U);
    EXPECT_EQ(to_number("0d", 16), 13U);
    EXPECT_EQ(to_number("17x"), std::nullopt);
    EXPECT_EQ(to_number("-1"), std::nullopt);
    EXPECT_EQ(to_number(""), std::nullopt);
    EXPECT_EQ(to_number("99999999999999999999"), std::nullopt);
}

TEST(Text, KnowsWhatUtf8Is)
{
    for (const char* const text :
         {"", "plain\n\x7f", "\u00e4\u07ff", "\u0800\ud7ff\ue000\uffff", "\U00010000\U0010ffff"})
        EXPECT_TRUE(is_utf8(text)) << text;
    for (const char* const text :
         {"\x80", "\xbf", "\xc3", "\xc3x", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
          "\xed\xbf\xbf", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
          "\xf8\x88\x80\x80\x80", "\xfe", "\xff"})
        EXPECT_FALSE(is_utf8(text)) << text;
}

TEST(Text, PathsAreComparedByComponent)
{
    EXPECT_TRUE(is_below("/scratch/a", "/scratch"));
    EXPECT_TRUE(is_below("/scratch", "/scratch/"));
    EXPECT_FALSE(is_below("/scratch2", "/scratch"));
    EXPECT_TRUE(is_below("/anything", "/"));
}

TEST(Text, SplitsPathsIntoDirectoryAndName)
{
    EXPECT_EQ(directory_of("/usr/lib/x"), "/usr/lib");
    EXPECT_EQ(directory_of("/usr"), "/");
    EXPECT_EQ(directory_of("usr"), "");
    EXPECT_EQ(name_of("/usr/lib/x"), "x");
    EXPECT_EQ(name_of("x"), "x");
}

} // namespace
} // namespace gpucontainer::base
