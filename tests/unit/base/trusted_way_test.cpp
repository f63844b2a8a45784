// SPDX-License-Identifier: MIT
#include "base/trusted_way.hpp"

#include "base/file.hpp"
#include "support/temp_root.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Not;

class TrustedWayTest : public ::testing::Test {
protected:
    TrustedWayTest()
    {
        root_.file("a/b/file", "text");
        root_.link("relative", "a/./b/..//b/file");
        root_.link("absolute", root_.at("a/b").string());
    }

    std::string path(std::string_view name) const { return root_.at(name).string(); }

    FileId id(std::string_view name) const
    {
        struct stat status = {};
        EXPECT_EQ(::stat(path(name).c_str(), &status), 0);
        return {status.st_dev, status.st_ino};
    }

    TrustedWay walk(const std::string& path, int flags = O_RDONLY) const
    {
        auto way = TrustedWay::walk(path, flags);
        if (way)
            return *std::move(way);
        ADD_FAILURE() << way.error().message();
        return {};
    }

    static int error_of(const std::string& path, int flags = O_RDONLY)
    {
        const auto way = TrustedWay::walk(path, flags);
        return way ? 0 : way.error().os_error();
    }

    test::TempRoot root_;
};

TEST_F(TrustedWayTest, LeadsWhereTheKernelLeads)
{
    for (const char* const name : {"a/b/file", "a//b/../b/./file", "relative", "absolute/file"})
        EXPECT_EQ(*read_all(walk(path(name)).fd.get(), 100), "text") << name;
    for (const char* const name : {"a/b", "a/b/", "absolute", "absolute/.", "a/b/.."})
        EXPECT_TRUE(walk(path(name), O_RDONLY | O_DIRECTORY).fd) << name;
    EXPECT_TRUE(walk("/../..").fd);

    EXPECT_EQ(error_of(path("a/b/file/")), ENOTDIR);
    EXPECT_EQ(error_of(path("a/b/file/x")), ENOTDIR);
    EXPECT_EQ(error_of(path("a/b/file"), O_RDONLY | O_DIRECTORY), ENOTDIR);
    EXPECT_EQ(error_of(""), ENOENT);
    EXPECT_EQ(error_of("/" + std::string(5000, 'x')), ENAMETOOLONG);
    root_.link("circle", "circle");
    EXPECT_EQ(error_of(path("circle")), ELOOP);
}

TEST_F(TrustedWayTest, KnowsTheDirectoriesThatItPassed)
{
    const TrustedWay direct = walk(path("a/b/file"));
    for (const char* const name : {"..", ".", "a", "a/b"})
        EXPECT_THAT(direct.passed, Contains(id(name))) << name;
    EXPECT_THAT(direct.passed, Not(Contains(id("a/b/file"))));

    root_.link("c/d", "../a");
    const TrustedWay by_link = walk(path("c/d/b"), O_RDONLY | O_DIRECTORY);
    for (const char* const name : {".", "c", "a", "a/b"})
        EXPECT_THAT(by_link.passed, Contains(id(name))) << name;
}

TEST_F(TrustedWayTest, BeginsAtTheWorkingDirectoryAndAllAboveIt)
{
    const UniqueFd before(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::chdir(path("a").c_str()), 0);
    const TrustedWay way = walk("b/file");
    const TrustedWay here = walk(".");
    ASSERT_EQ(::fchdir(before.get()), 0);

    EXPECT_EQ(*read_all(way.fd.get(), 100), "text");
    for (const char* const name : {"..", ".", "a", "a/b"})
        EXPECT_THAT(way.passed, Contains(id(name))) << name;
    EXPECT_THAT(here.passed, Contains(id("a")));
    EXPECT_THAT(here.passed, Not(Contains(id("a/b"))));
}

TEST_F(TrustedWayTest, EndsWhereNothingIs)
{
    const TrustedWay way = walk(path("absolute/x/y/../z"));
    EXPECT_FALSE(way.fd);
    EXPECT_EQ(way.missing, "x/y/../z");
    struct stat status = {};
    ASSERT_EQ(::fstat(way.directory.get(), &status), 0);
    EXPECT_EQ(FileId(status.st_dev, status.st_ino), id("a/b"));

    root_.link("dangling", "a/nowhere");
    EXPECT_EQ(walk(path("dangling")).missing, "nowhere");
}

TEST_F(TrustedWayTest, OpensNothingButFilesAndDirectories)
{
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    const TrustedWay way = walk(path("fifo"));
    EXPECT_NE(::fcntl(way.fd.get(), F_GETFL) & O_PATH, 0);
}

TEST_F(TrustedWayTest, NamesTheFirstDirectoryThatOthersMayWrite)
{
    EXPECT_FALSE(walk(path("a/b/file")).distrust);
    ASSERT_EQ(::chmod(path("a").c_str(), 0775), 0);
    ASSERT_EQ(::chmod(path("a/b").c_str(), 0757), 0);
    EXPECT_EQ(walk(path("a/b/file")).distrust->message(), path("a") + ": its group may write it");
    ASSERT_EQ(::chmod(path("a").c_str(), 01775), 0);
    EXPECT_EQ(walk(path("absolute/file")).distrust->message(),
              path("a/b") + ": everybody may write it");
    EXPECT_THAT(walk(path("a/b/x")).distrust->message(), EndsWith("everybody may write it"));
}

TEST_F(TrustedWayTest, DoesNotFollowLinksOfProcfs)
{
    const auto way = TrustedWay::walk("/proc/self/root" + path("a/b/file"), O_RDONLY);
    ASSERT_FALSE(way);
    EXPECT_EQ(way.error().code(), Errc::permission);
}

TEST_F(TrustedWayTest, MakesWhatIsMissingAndEntersNoLink)
{
    const mode_t umask = ::umask(077);
    const auto made = walk(path("absolute/x/y")).make_missing(0755);
    (void)::umask(umask);
    ASSERT_TRUE(made);
    EXPECT_EQ(*made, 2U);
    struct stat status = {};
    ASSERT_EQ(::stat(path("a/b/x/y").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0755U);

    const TrustedWay way = walk(path("other/y"));
    root_.link("other", "a"); // somebody was faster
    const auto refused = way.make_missing(0755);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().os_error(), ENOTDIR);
    EXPECT_NE(::access(path("a/y").c_str(), F_OK), 0);
}

} // namespace
} // namespace gpucontainer::base
