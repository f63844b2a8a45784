// SPDX-License-Identifier: MIT
#include "search/path_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

namespace gpucontainer::search {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t many = 100;

/// What a pattern names among directories and what is in them.
std::vector<std::string> expanded(const std::string& pattern,
                                  const std::map<std::string, std::vector<std::string>>& names,
                                  std::size_t most = many)
{
    return expand_pattern(
        pattern,
        [&](const std::string& directory) {
            const auto found = names.find(directory);
            return found == names.end() ? std::vector<std::string>() : found->second;
        },
        most);
}

std::vector<std::string> matching(const std::string& pattern, std::vector<std::string> names)
{
    return expanded("/dev/" + pattern, {{"/dev", std::move(names)}});
}

TEST(PathPattern, StandsForAnyNamesOfADirectory)
{
    EXPECT_THAT(matching("nvhost-*", {"nvhost-gpu", "nvhost-", "nvhost", "xnvhost-gpu"}),
                ElementsAre("/dev/nvhost-gpu", "/dev/nvhost-"));
    EXPECT_THAT(matching("fb?", {"fb", "fb0", "fb10"}), ElementsAre("/dev/fb0"));
    EXPECT_THAT(matching("*b*d", {"abcd", "bd", "bdx", "bxdyd"}),
                ElementsAre("/dev/bxdyd", "/dev/bd", "/dev/abcd"));
    EXPECT_THAT(matching("**", {"a"}), ElementsAre("/dev/a"));
    EXPECT_THAT(matching("*?", {"a", ""}), ElementsAre("/dev/a"));
    EXPECT_THAT(matching("[ab]*", {"a", "[ab]c"}), ElementsAre("/dev/[ab]c"));
}

TEST(PathPattern, StandsForHiddenNamesWhereItSaysSo)
{
    EXPECT_THAT(matching("*", {".hidden", "a"}), ElementsAre("/dev/a"));
    EXPECT_THAT(matching(".*", {".hidden", "a"}), ElementsAre("/dev/.hidden"));
}

TEST(PathPattern, LooksUpPatternsAlone)
{
    EXPECT_THAT(expanded("/usr/lib/libcuda.so", {}), ElementsAre("/usr/lib/libcuda.so"));
    EXPECT_THAT(expanded("/usr/*/lib", {}), IsEmpty());
    EXPECT_THAT(expanded("/*/x*", {{"/", {"a", "b"}}, {"/a", {"x1", "y"}}, {"/b", {"x2"}}}),
                ElementsAre("/b/x2", "/a/x1"));
}

TEST(PathPattern, NamesSoManyAtMost)
{
    EXPECT_THAT(expanded("/dev/*", {{"/dev", std::vector<std::string>(many, "a")}}, 3), SizeIs(3));
}

TEST(PathPattern, TakesNoTimeHoweverManyStarsItHas)
{
    std::string pattern;
    for (int i = 0; i < 100; ++i)
        pattern += "*a";
    EXPECT_THAT(matching(pattern + "b", {std::string(255, 'a')}), IsEmpty());
}

} // namespace
} // namespace gpucontainer::search
