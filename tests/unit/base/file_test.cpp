// SPDX-License-Identifier: MIT
#include "base/file.hpp"

#include "support/temp_root.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpucontainer::base {
namespace {

TEST(ReadFile, ReadsFilesThatReportNoSize)
{
    const auto content = read_file("/proc/self/status");

    ASSERT_TRUE(content);
    EXPECT_NE(content->find("Name:"), std::string::npos);
}

TEST(ReadFile, RefusesWhatIsLargerThanTheLimit)
{
    test::TempRoot root;
    root.file("large", std::string(100, 'x'));

    const auto content = read_file(root.at("large"), 99);

    ASSERT_FALSE(content);
    EXPECT_EQ(content.error().os_error(), EFBIG);
}

TEST(ReadFile, DoesNotWaitForAFifo)
{
    test::TempRoot root;
    ASSERT_EQ(::mkfifo(root.at("fifo").c_str(), 0600), 0);

    EXPECT_FALSE(read_file(root.at("fifo")));
}

TEST(ReadLink, ReadsADanglingLink)
{
    test::TempRoot root;
    root.link("link", "nowhere");
    root.file("file");

    EXPECT_EQ(*read_link(AT_FDCWD, root.at("link")), "nowhere");
    EXPECT_EQ(read_link(AT_FDCWD, root.at("file")).error().os_error(), EINVAL);
    EXPECT_EQ(read_link(AT_FDCWD, root.at("missing")).error().os_error(), ENOENT);
}

TEST(ListDirectory, IsSortedAndLimited)
{
    test::TempRoot root;
    root.file("b");
    root.file("a");

    const auto names = list_directory(-1, root.at("").string());
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (std::vector<std::string>{"a", "b"}));
    EXPECT_FALSE(list_directory(-1, root.at("").string(), 1));
}

} // namespace
} // namespace gpucontainer::base
