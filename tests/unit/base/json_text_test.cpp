// SPDX-License-Identifier: MIT
#include "base/json_text.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::base {
namespace {

TEST(JsonDepth, IsThatOfTheDeepestPart)
{
    EXPECT_EQ(json_depth(""), 0U);
    EXPECT_EQ(json_depth("1"), 0U);
    EXPECT_EQ(json_depth("[]"), 1U);
    EXPECT_EQ(json_depth(R"({"a": [1, [2]], "b": {}})"), 3U);
    EXPECT_EQ(json_depth("[[[["), 4U);
    EXPECT_EQ(json_depth("]]][["), 2U);
}

TEST(JsonDepth, CountsNoBracketsOfStrings)
{
    EXPECT_EQ(json_depth(R"(["[[[", "\"[[", "\\", ["]"]])"), 2U);
    EXPECT_EQ(json_depth("\"\\"), 0U);
    EXPECT_EQ(json_depth("\"[["), 0U);
}

TEST(JsonFault, QuotesNothingThatATerminalObeys)
{
    EXPECT_EQ(json_fault("x last read: '\x7f\xc2\x9b\x1b['"), "last read: '????['");
}

TEST(JsonFault, HasSomeLength)
{
    EXPECT_EQ(json_fault("[json.exception.parse_error.101] parse error"), "parse error");
    EXPECT_EQ(json_fault("x " + std::string(1000, 'y')), std::string(200, 'y') + "...");
    EXPECT_EQ(json_fault(""), "");
}

} // namespace
} // namespace gpucontainer::base
