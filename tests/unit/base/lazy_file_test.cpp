// SPDX-License-Identifier: MIT
#include "base/lazy_file.hpp"

#include "support/temp_root.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

class LazyFileTest : public ::testing::Test {
protected:
    LazyFile open(const std::string& content)
    {
        tree_.file("file", content);
        auto file = LazyFile::open(read_only(), 1U << 20U);
        EXPECT_TRUE(file);
        return *std::move(file);
    }

    std::string path() const { return tree_.at("file").string(); }
    UniqueFd read_only() const { return UniqueFd(::open(path().c_str(), O_RDONLY | O_CLOEXEC)); }

    /// Each byte tells its place, in runs longer than a page.
    static std::string pattern(std::size_t size)
    {
        std::string content(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            content[i] = static_cast<char>('a' + i / 1000 % 26);
        return content;
    }

    test::TempRoot tree_;
};

TEST_F(LazyFileTest, ShowsEachPartInAnyOrder)
{
    const std::string content = pattern(50'000);
    const LazyFile file = open(content);

    EXPECT_EQ(file.size(), content.size());
    for (const std::size_t offset : {40'000U, 0U, 4'095U, 12'345U, 4'096U, 49'999U})
        EXPECT_EQ(file.view(offset, 9'000), content.substr(offset, 9'000)) << offset;
    EXPECT_EQ(file.view(0, content.size()), content);
}

TEST_F(LazyFileTest, EndsWithTheFile)
{
    const LazyFile file = open("abc");

    EXPECT_EQ(file.view(1, 100), "bc");
    EXPECT_EQ(file.view(3, 1), "");
    EXPECT_EQ(file.view(SIZE_MAX, SIZE_MAX), "");
    EXPECT_EQ(open("").view(0, 1), "");
}

TEST_F(LazyFileTest, ShowsTheSameFromMemory)
{
    const std::string content = pattern(10'000);

    EXPECT_EQ(LazyFile(content).view(5'000, 5'000), content.substr(5'000));
    EXPECT_EQ(LazyFile(std::string()).size(), 0U);
}

TEST_F(LazyFileTest, ReadsZerosWhereTheFileWasCutShort)
{
    const LazyFile file = open(pattern(20'000));
    ASSERT_EQ(::truncate(path().c_str(), 9'000), 0);

    EXPECT_EQ(file.view(8'999, 3), std::string("i\0\0", 3));
    EXPECT_EQ(file.view(16'000, 2), std::string(2, '\0'));
}

TEST_F(LazyFileTest, TellsThatAPartCouldNotBeRead)
{
    tree_.file("file", "content");
    const auto file =
        LazyFile::open(UniqueFd(::open(path().c_str(), O_WRONLY | O_CLOEXEC)), 1U << 20U);

    ASSERT_TRUE(file);
    EXPECT_EQ(file->read_error(), 0);
    EXPECT_EQ(file->view(0, 1), std::string(1, '\0'));
    EXPECT_EQ(file->read_error(), EBADF);
}

TEST_F(LazyFileTest, ReadsNothingThatIsNotAskedFor)
{
    const LazyFile file = open(pattern(20'000));
    ASSERT_EQ(file.view(0, 1), "a");
    ASSERT_EQ(::truncate(path().c_str(), 0), 0);

    EXPECT_EQ(file.view(0, 1), "a");
    EXPECT_EQ(file.view(8'192, 1), std::string(1, '\0'));
}

TEST_F(LazyFileTest, RefusesWhatIsTooLargeOrNoFile)
{
    tree_.file("file", "1234");

    const auto large = LazyFile::open(read_only(), 3);
    const auto directory =
        LazyFile::open(UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 3);

    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().os_error(), EFBIG);
    EXPECT_FALSE(directory);
}

} // namespace
} // namespace gpucontainer::base
