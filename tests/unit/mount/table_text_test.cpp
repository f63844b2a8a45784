// SPDX-License-Identifier: MIT
#include "mount/table_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace gpucontainer::mount {
namespace {

/// A table that is another each time that it is read, until the last.
class ChangingTable final : public TableSource {
public:
    explicit ChangingTable(std::vector<std::string> readings) : readings_(std::move(readings)) {}

    bool rewind() noexcept override
    {
        current_ = std::min(count++, readings_.size() - 1);
        at_ = 0;
        return true;
    }
    ssize_t read(char* to, std::size_t size) noexcept override
    {
        constexpr std::size_t part = 4096;
        const std::string& text = readings_[current_];
        const std::size_t got = std::min({size, part, text.size() - at_});
        std::copy_n(text.data() + at_, got, to);
        at_ += got;
        return static_cast<ssize_t>(got);
    }

    std::size_t count = 0;

private:
    std::vector<std::string> readings_;
    std::size_t current_ = 0;
    std::size_t at_ = 0;
};

TEST(TableText, IsReadAgainUntilNoLineCanBeMissing)
{
    ChangingTable table({"1\n2\n4\n", "2\n3\n4\n", "2\n3\n4\n"});
    TableText text;
    EXPECT_TRUE(text.take(table));
    EXPECT_EQ(text.view(), "2\n3\n4\n");
    EXPECT_EQ(table.count, 3U);
}

TEST(TableText, IsUnknownWhereItDoesNotComeToRest)
{
    std::vector<std::string> readings;
    for (int i = 0; i < 100; ++i)
        readings.push_back(std::to_string(i));
    ChangingTable table(readings);
    TableText text;
    EXPECT_FALSE(text.take(table));
    EXPECT_EQ(errno, EAGAIN);
}

TEST(TableText, MayBeAsLongAsItIs)
{
    const std::string many(1'000'000, 'x');
    ChangingTable table({many});
    TableText text;
    EXPECT_TRUE(text.take(table));
    EXPECT_EQ(text.view(), many);
}

} // namespace
} // namespace gpucontainer::mount
