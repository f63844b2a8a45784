// SPDX-License-Identifier: MIT
#include "base/similar.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::base {
namespace {

TEST(Similar, WordsDifferBySoManySlips)
{
    EXPECT_TRUE(is_like("video", "video", 0));
    EXPECT_FALSE(is_like("vidoe", "video", 0));
    EXPECT_TRUE(is_like("vidoe", "video", 1));
    EXPECT_TRUE(is_like("vdo", "video", 2));
    EXPECT_FALSE(is_like("vd", "video", 2));
    EXPECT_TRUE(is_like("", "ab", 2));
}

TEST(Similar, SuggestsTheWordThatIsMeant)
{
    EXPECT_EQ(suggestion("comptue", {"compute", "utility"}), "did you mean compute? ");
    EXPECT_EQ(suggestion("Utility", {"compute", "utility"}), "did you mean utility? ");
    EXPECT_EQ(suggestion("intel", {"intle", "intel"}), "did you mean intel? ");
}

TEST(Similar, SuggestsNothingForAnotherWord)
{
    EXPECT_EQ(suggestion("magic", {"compute", "utility"}), "");
    EXPECT_EQ(suggestion("xy", {"ab"}), "");
    EXPECT_EQ(suggestion("", {"all"}), "");
}

} // namespace
} // namespace gpucontainer::base
