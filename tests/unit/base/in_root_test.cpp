// SPDX-License-Identifier: MIT
#include "base/in_root.hpp"
#include "base/walk.hpp"

#include "support/temp_root.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace gpucontainer::base {
namespace {

using Open = int (*)(int, const char*, std::uint64_t, std::uint32_t);

int by_walk(int root, const char* path, std::uint64_t flags, std::uint32_t mode)
{
    return walk(root, path, flags, mode, Links::in_root);
}

int by_kernel(int root, const char* path, std::uint64_t flags, std::uint32_t mode)
{
    return open_in_root(root, path, flags, mode);
}

bool has_openat2()
{
    (void)::syscall(SYS_openat2, -1, "", nullptr, 0);
    return errno == EINVAL;
}

/// The kernel's answers and those of the walk that stands for it are the same.
class InRootTest : public testing::TestWithParam<Open> {
protected:
    InRootTest()
    {
        root_.file("usr/lib/libc.so", "c");
        root_.file("etc/passwd", "inside");
        root_.link("lib", "usr/lib");
        root_.link("var/run", "/run");
        root_.file("run/pid", "1");
        outside_.file("passwd", "outside");
    }

    void SetUp() override
    {
        if (GetParam() == by_kernel && !has_openat2())
            GTEST_SKIP() << "this kernel has no openat2";
    }

    int error(const std::string& path, int flags = O_PATH)
    {
        const UniqueFd fd(open(path, flags));
        return fd ? 0 : errno;
    }

    UniqueFd open(const std::string& path, int flags = O_PATH) const
    {
        const std::uint32_t mode = (flags & O_CREAT) != 0 ? 0600 : 0;
        return UniqueFd(GetParam()(fd_.get(), path.c_str(), static_cast<unsigned>(flags), mode));
    }

    std::string read(const std::string& path) const
    {
        const UniqueFd fd(open(path, O_RDONLY));
        if (!fd)
            return std::strerror(errno);
        std::array<char, 64> text = {};
        const ssize_t length = ::read(fd.get(), text.data(), text.size());
        return {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
    }

    /// Which name below the root a path leads to: "" is the root itself.
    std::string where(const std::string& path) const
    {
        const UniqueFd fd(open(path));
        if (!fd)
            return std::strerror(errno);
        return path_of(fd.get())->substr(root_.at("").string().size() - 1);
    }

    test::TempRoot root_;
    test::TempRoot outside_;
    UniqueFd fd_ = root_.open();
};

TEST_P(InRootTest, FindsWhatIsThere)
{
    for (const char* path : {"usr/lib/libc.so", "/usr/lib/libc.so", "//usr//lib/./libc.so"})
        EXPECT_EQ(where(path), "/usr/lib/libc.so") << path;
    EXPECT_EQ(where("/usr/"), "/usr");
    EXPECT_EQ(where("/usr/."), "/usr");
    EXPECT_EQ(where("usr/lib/.."), "/usr");
}

TEST_P(InRootTest, SaysWhatIsNotThere)
{
    EXPECT_EQ(error(""), ENOENT);
    EXPECT_EQ(error("missing"), ENOENT);
    EXPECT_EQ(error("missing/name"), ENOENT);
    EXPECT_EQ(error("etc/passwd/name"), ENOTDIR);
    EXPECT_EQ(error("etc/passwd/"), ENOTDIR);
    EXPECT_EQ(error("etc/passwd/.."), ENOTDIR);
    EXPECT_EQ(error("etc/passwd", O_PATH | O_DIRECTORY), ENOTDIR);
    EXPECT_EQ(error(std::string(PATH_MAX, 'a')), ENAMETOOLONG);
    EXPECT_EQ(error(std::string(NAME_MAX + 1, 'a')), ENAMETOOLONG);
    EXPECT_EQ(error(std::string(NAME_MAX + 1, 'a') + "/b"), ENAMETOOLONG);
}

TEST_P(InRootTest, FollowsLinksInsideTheRoot)
{
    root_.link("chain", "one");
    root_.link("one", "./two/");
    root_.link("two", "/usr/../lib");

    EXPECT_EQ(where("lib/libc.so"), "/usr/lib/libc.so");
    EXPECT_EQ(where("var/run/pid"), "/run/pid");
    EXPECT_EQ(where("chain/libc.so"), "/usr/lib/libc.so");
    EXPECT_EQ(where("chain"), "/usr/lib");
    EXPECT_EQ(where("lib/"), "/usr/lib");
}

TEST_P(InRootTest, NeverLeavesTheRoot)
{
    root_.link("up", "../../../../../../../../../../../../../../etc");
    root_.link("out", outside_.at("").string());
    root_.link("usr/slash", "/");

    EXPECT_EQ(where("../../.."), "");
    EXPECT_EQ(where("/.."), "");
    EXPECT_EQ(read("up/passwd"), "inside");
    EXPECT_EQ(read("usr/slash/../etc/passwd"), "inside");
    EXPECT_EQ(error("out/passwd"), ENOENT);
    EXPECT_EQ(error("usr/lib/../../../" + outside_.at("passwd").string()), ENOENT);
}

TEST_P(InRootTest, LeavesTheLastLinkAloneWhenAsked)
{
    struct stat status = {};
    const UniqueFd link = open("lib", O_PATH | O_NOFOLLOW);
    ASSERT_EQ(::fstat(link.get(), &status), 0);

    EXPECT_TRUE(S_ISLNK(status.st_mode));
    EXPECT_EQ(error("lib", O_RDONLY | O_NOFOLLOW), ELOOP);
    EXPECT_EQ(error("lib", O_PATH | O_NOFOLLOW | O_DIRECTORY), ENOTDIR);
    EXPECT_EQ(error("lib/", O_PATH | O_NOFOLLOW), 0);
}

TEST_P(InRootTest, EndsWhereLinksGoRound)
{
    root_.link("a", "b");
    root_.link("b", "a");
    root_.link("self/self", ".");
    std::string before = "usr";
    for (int i = 1; i <= 41; ++i) {
        root_.link("link" + std::to_string(i), before);
        before = "link" + std::to_string(i);
    }

    EXPECT_EQ(error("a"), ELOOP);
    EXPECT_EQ(error("a/b"), ELOOP);
    EXPECT_EQ(where("link40"), "/usr");
    EXPECT_EQ(error("link41"), ELOOP);
}

TEST_P(InRootTest, FollowsNoMagicLink)
{
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string self = std::to_string(::getpid());
    for (const std::string& path :
         {self + "/root", self + "/root/etc", self + "/cwd", self + "/fd/0", self + "/exe"}) {
        const UniqueFd fd(GetParam()(proc.get(), path.c_str(), O_PATH, 0));
        const int error = errno;
        EXPECT_FALSE(fd) << path;
        EXPECT_EQ(error, ELOOP) << path;
    }
}

TEST_P(InRootTest, CreatesFilesWithoutFollowingAnything)
{
    root_.link("dangling", "/etc/new");

    EXPECT_EQ(error("etc/other", O_WRONLY | O_CREAT | O_EXCL), 0);
    EXPECT_EQ(error("etc/other", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    EXPECT_EQ(error("dangling", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    struct stat status = {};
    ASSERT_EQ(::stat(root_.at("etc/other").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_P(InRootTest, GivesNoDescriptorToPrograms)
{
    const UniqueFd path = open("etc/passwd");
    const UniqueFd file = open("etc/passwd", O_RDONLY);

    EXPECT_EQ(::fcntl(path.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
}

/// Directories that move while ".." leads out of them, and names that become links.
TEST_P(InRootTest, StaysInsideWhateverIsRenamedMeanwhile)
{
    root_.directory("a/b/c/d");
    root_.directory("elsewhere");
    root_.link("trap", "../../../../../../../.." + outside_.at("").string());
    root_.directory("swap");
    root_.file("swap/passwd", "inside");
    std::atomic<bool> done = false;
    std::thread other([&] {
        const int root = fd_.get();
        while (!done) {
            (void)::renameat(root, "a/b/c", root, "elsewhere/c");
            (void)::renameat(root, "elsewhere/c", root, "a/b/c");
            (void)::renameat2(root, "swap", root, "trap", RENAME_EXCHANGE);
        }
    });

    int found = 0;
    for (int i = 0; i < 20'000; ++i) {
        const std::string up = read("a/b/c/d/../../../../etc/passwd");
        found += up == "inside" ? 1 : 0;
        const std::string swapped = read("swap/passwd");
        if (swapped == "outside" || up == "outside") {
            ADD_FAILURE() << "left the root";
            break;
        }
    }
    done = true;
    other.join();
    EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(, InRootTest, testing::Values(by_kernel, by_walk),
                         [](const auto& test) -> std::string {
                             return test.param == by_walk ? "ByWalk" : "ByKernel";
                         });

TEST(Walk, LeavesNoDescriptorOpen)
{
    test::TempRoot root;
    root.directory("a/b/c");
    root.link("a/link", "/a/b/../b/c");
    const UniqueFd fd = root.open();
    const int next = UniqueFd(::open("/", O_PATH | O_CLOEXEC)).get();

    for (const char* path : {"a/b/c", "a/link", "a/missing", "a/b/c/../../link/../.."})
        (void)UniqueFd(walk(fd.get(), path, O_PATH, 0, Links::in_root));

    EXPECT_EQ(UniqueFd(::open("/", O_PATH | O_CLOEXEC)).get(), next);
}

/// Without a link and without a way out, as is asked of what lies below a mount.
using OpenBeneath = int (*)(int, const char*, std::uint64_t);

int beneath_by_walk(int directory, const char* path, std::uint64_t flags)
{
    return walk(directory, path, flags, 0, Links::refused);
}

class BeneathTest : public testing::TestWithParam<OpenBeneath> {};

TEST_P(BeneathTest, RefusesLinksAndWaysOut)
{
    test::TempRoot root;
    root.directory("a/b");
    root.link("link", "a");
    const UniqueFd fd = root.open();
    const auto error = [&](const char* path) {
        return UniqueFd(GetParam()(fd.get(), path, O_PATH)) ? 0 : errno;
    };

    EXPECT_EQ(error("a/b"), 0);
    EXPECT_EQ(error("link/b"), ELOOP);
    EXPECT_EQ(error("link"), ELOOP);
    EXPECT_EQ(error(".."), EXDEV);
    EXPECT_EQ(error("a/../.."), EXDEV);
}

INSTANTIATE_TEST_SUITE_P(, BeneathTest, testing::Values(open_beneath, beneath_by_walk),
                         [](const auto& test) -> std::string {
                             return test.param == beneath_by_walk ? "ByWalk" : "ByKernel";
                         });

TEST(Walk, HasALimitToItsDepth)
{
    std::string path;
    for (int i = 0; i < 300; ++i)
        path += "d/";
    test::TempRoot root;
    root.directory(path);
    const UniqueFd fd = root.open();

    EXPECT_TRUE(UniqueFd(walk(fd.get(), path.substr(0, 400).c_str(), O_PATH, 0, Links::in_root)));
    EXPECT_FALSE(UniqueFd(walk(fd.get(), path.c_str(), O_PATH, 0, Links::in_root)));
    EXPECT_EQ(errno, ENAMETOOLONG);
}

TEST(PathOf, IsThatOfTheThreadsOwnDescriptor)
{
    const UniqueFd fd(::open("/proc", O_PATH | O_CLOEXEC));
    std::string path;
    std::thread([&] {
        ASSERT_EQ(::unshare(CLONE_FILES), 0);
        const UniqueFd other(::open("/dev", O_PATH | O_CLOEXEC));
        ASSERT_EQ(::dup2(other.get(), fd.get()), fd.get());
        path = *path_of(fd.get());
    }).join();
    EXPECT_EQ(path, "/dev");
    EXPECT_EQ(*path_of(fd.get()), "/proc");
}

} // namespace
} // namespace gpucontainer::base
