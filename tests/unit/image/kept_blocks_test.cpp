// SPDX-License-Identifier: MIT
#include "image/kept_blocks.hpp"

#include "image/file_system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace gpucontainer::image {
namespace {

using ::testing::ElementsAre;

class KeptBlocksTest : public ::testing::Test {
protected:
    /// What is at the places, which have blocks of one size.
    std::string at(const std::vector<std::uint64_t>& places)
    {
        std::string all;
        for (const std::uint64_t place : places)
            all += **blocks_.at({place, 1});
        return all;
    }

    static constexpr std::size_t most = 2;
    std::vector<std::uint64_t> decoded_;
    KeptBlocks blocks_{most, [this](const StoredBlock& stored) -> Result<std::string> {
                           decoded_.push_back(stored.start);
                           if (stored.size == 0)
                               return error_of(EBADMSG);
                           return std::to_string(stored.start * stored.size);
                       }};
};

TEST_F(KeptBlocksTest, DecodesABlockOnce)
{
    EXPECT_EQ(at({1, 2, 1, 2, 2, 1}), "121221");
    EXPECT_THAT(decoded_, ElementsAre(1, 2));
}

TEST_F(KeptBlocksTest, KeepsTheLastOnesThatWereUsed)
{
    EXPECT_EQ(at({1, 2, 1, 3, 1, 2}), "121312");
    EXPECT_THAT(decoded_, ElementsAre(1, 2, 3, 2));
}

TEST_F(KeptBlocksTest, KnowsBlocksOfOtherSizesAtTheSamePlace)
{
    EXPECT_EQ(**blocks_.at({5, 1}), "5");
    EXPECT_EQ(**blocks_.at({5, 2}), "10");
}

TEST_F(KeptBlocksTest, KeepsNoFailure)
{
    EXPECT_FALSE(blocks_.at({5, 0}));
    EXPECT_FALSE(blocks_.at({5, 0}));
    EXPECT_THAT(decoded_, ElementsAre(5, 5));
}

} // namespace
} // namespace gpucontainer::image
