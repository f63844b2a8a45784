// SPDX-License-Identifier: MIT
#include "config/trusted_file.hpp"

#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrustedFile : public ::testing::Test {
protected:
    std::string path(std::string_view name) const { return root_.at(name).string(); }

    std::string problem_with(std::string_view name) const
    {
        const auto text = read_trusted(path(name));
        return text ? "no error" : text.error().message();
    }

    test::TempRoot root_;
};

TEST_F(TrustedFile, IsReadWhenItIsTheCallers)
{
    root_.file("config.yaml", "nv: true\n");

    const auto text = read_trusted(path("config.yaml"));

    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(text->value_or("missing"), "nv: true\n");
}

TEST_F(TrustedFile, MayBeMissing)
{
    root_.file("file");

    for (const std::string_view name : {"nowhere", "nowhere/config.yaml", "file/config.yaml"}) {
        const auto text = read_trusted(path(name));
        ASSERT_TRUE(text) << text.error().message();
        EXPECT_FALSE(*text);
    }
    EXPECT_THAT(*list_trusted(path("nowhere")), IsEmpty());
}

TEST_F(TrustedFile, IsNotWrittenByEverybody)
{
    root_.file("config.yaml", "nv: true\n");
    ASSERT_EQ(::chmod(path("config.yaml").c_str(), 0666), 0);

    const auto text = read_trusted(path("config.yaml"));

    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code(), Errc::permission);
    EXPECT_EQ(text.error().message(), path("config.yaml") + ": everybody may write it");
    EXPECT_EQ(text.error().hint(), "take the permission away: chmod go-w " + path("config.yaml"));
}

TEST_F(TrustedFile, IsNobodyElses)
{
    constexpr uid_t somebody = 4711;
    root_.file("config.yaml", "nv: true\n");
    if (::chown(path("config.yaml").c_str(), somebody, somebody) != 0)
        GTEST_SKIP() << "this user may not give files away";

    EXPECT_EQ(problem_with("config.yaml"), path("config.yaml") + ": belongs to user 4711");
}

TEST_F(TrustedFile, IsAFileOfSomeSize)
{
    root_.directory("directory");
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    root_.file("large", std::string((256UL << 10U) + 1, '#'));

    EXPECT_EQ(problem_with("directory"), path("directory") + ": not a regular file");
    EXPECT_EQ(problem_with("fifo"), path("fifo") + ": not a regular file");
    // Nobody is told to take a permission away that everybody needs.
    ASSERT_EQ(::chmod(path("fifo").c_str(), 0666), 0);
    EXPECT_EQ(problem_with("fifo"), path("fifo") + ": not a regular file");
    EXPECT_THAT(problem_with("large"), HasSubstr("File too large"));
}

TEST_F(TrustedFile, LiesInADirectoryThatIsTrustedToo)
{
    root_.file("d/b.yaml");
    root_.file("d/a.yaml");
    EXPECT_THAT(*list_trusted(path("d")), ElementsAre(path("d/a.yaml"), path("d/b.yaml")));

    ASSERT_EQ(::chmod(path("d").c_str(), 0777), 0);
    const auto names = list_trusted(path("d"));
    ASSERT_FALSE(names);
    EXPECT_EQ(names.error().code(), Errc::permission);
    EXPECT_EQ(list_trusted(path("d/a.yaml")).error().code(), Errc::usage);
}

} // namespace
} // namespace gpucontainer::config
