// SPDX-License-Identifier: MIT
#include "mount/links.hpp"

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

namespace gpucontainer::mount {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::uint64_t> below(Links& links, std::uint64_t id)
{
    EXPECT_TRUE(links.find_below(id));
    return {links.below().begin(), links.below().end()};
}

TEST(Links, FindWhatLiesOnAMountAtAnyDepth)
{
    Links links;
    // The first was moved: it stands before what it lies on.
    for (const auto& [parent, id] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {30, 40}, {1, 1}, {1, 20}, {20, 30}, {1, 21}, {21, 31}, {20, 32}})
        ASSERT_TRUE(links.add(parent, id));

    EXPECT_THAT(below(links, 20), ElementsAre(30, 32, 40));
    EXPECT_THAT(below(links, 1), ElementsAre(20, 21, 30, 31, 32, 40));
    EXPECT_THAT(below(links, 40), IsEmpty());
    EXPECT_THAT(below(links, 99), IsEmpty());
}

TEST(Links, ComeToAnEndInATableOfNoKernel)
{
    Links links;
    for (const auto& [parent, id] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
             {1, 2}, {2, 3}, {3, 2}, {3, 1}, {2, 2}})
        ASSERT_TRUE(links.add(parent, id));

    EXPECT_THAT(below(links, 1), ElementsAre(2, 3));
}

TEST(Links, GrowWithTheTable)
{
    Links links;
    constexpr std::uint64_t last = 20000;
    for (std::uint64_t id = last; id > 1; --id)
        ASSERT_TRUE(links.add(id - 1, id));

    EXPECT_THAT(below(links, 1), SizeIs(last - 1));
    EXPECT_THAT(below(links, last - 2), ElementsAre(last - 1, last));
}

} // namespace
} // namespace gpucontainer::mount
