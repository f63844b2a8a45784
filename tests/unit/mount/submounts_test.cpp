// SPDX-License-Identifier: MIT
#include "mount/submounts.hpp"

#include "base/unique_fd.hpp"
#include "mount/facts.hpp"
#include "mount/statmount.hpp"
#include "mount/table.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::mount {
namespace {

using base::UniqueFd;

class Collector final : public MountVisitor {
public:
    explicit Collector(std::size_t most = SIZE_MAX) : most_(most) {}
    bool visit(const char* path) noexcept override
    {
        paths.emplace_back(path);
        errno = EINTR;
        return paths.size() < most_;
    }
    std::vector<std::string> paths;

private:
    std::size_t most_;
};

Listing by_table(int fd, MountVisitor& visitor) { return read_children(fd, visitor); }
using Lister = std::function<Listing(int, MountVisitor&)>;

/// In a mount namespace of its own: `below` and `over` are two mounts with the
/// same directories.
class SubmountsTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        for (const char* name : {"below", "over"}) {
            root_.directory(name);
            mount_tmpfs(name);
            for (const char* path : {"/a", "/a/b", "/c d\\040e\tf"})
                root_.directory(std::string(name) + path);
        }
    }

    void TearDown() override
    {
        for (const char* name : {"below", "over"})
            (void)::umount2(root_.at(name).c_str(), MNT_DETACH);
    }

    void mount_tmpfs(const std::string& path) const
    {
        ASSERT_EQ(::mount("test", root_.at(path).c_str(), "tmpfs", 0, nullptr), 0) << path;
    }

    UniqueFd open(const std::string& path) const
    {
        return UniqueFd(::open(root_.at(path).c_str(), O_PATH | O_CLOEXEC));
    }

    template <typename List>
    std::vector<std::string> listed(List list) const
    {
        Collector collector;
        EXPECT_EQ(list(open("below").get(), collector), Listing::complete);
        std::sort(collector.paths.begin(), collector.paths.end());
        return collector.paths;
    }

    bool is_mounted(const std::string& path) const { return is_mount_root(open(path).get()); }

    test::TempRoot root_;

    const Bench bench = {};
};

TEST_F(SubmountsTest, AreToldByTheKernelAndByTheTableAlike)
{
    mount_tmpfs("below/a");
    root_.directory("below/a/deeper");
    mount_tmpfs("below/a/deeper"); // not on the mount that is asked for
    mount_tmpfs("below/c d\\040e\tf");

    const std::vector<std::string> expected = {root_.at("below/a"), root_.at("below/c d\\040e\tf")};
    EXPECT_EQ(listed(by_table), expected);
    Collector collector;
    if (list_children(open("below").get(), collector) != Listing::unavailable) {
        EXPECT_EQ(listed(list_children), expected);
    }
}

TEST_F(SubmountsTest, EndWithAVisitorThatFails)
{
    mount_tmpfs("below/a");
    mount_tmpfs("below/c d\\040e\tf");

    for (const auto& list : {Lister(list_children), Lister(by_table)}) {
        Collector collector(1);
        EXPECT_EQ(list(open("below").get(), collector), Listing::failed);
        EXPECT_EQ(errno, EINTR);
        EXPECT_EQ(collector.paths.size(), 1U);
    }
}

TEST_F(SubmountsTest, AreCarriedToTheSameNames)
{
    mount_tmpfs("below/a/b");
    mount_tmpfs("below/c d\\040e\tf");
    root_.file("below/a/b/note", "here");

    for (auto* const carry : {carry_submounts, carry_submounts_by_table}) {
        ASSERT_EQ(carry(bench, open("below").get(), open("over").get(), own_table), 0);

        EXPECT_EQ(root_.read("over/a/b/note"), "here");
        EXPECT_TRUE(is_mounted("over/c d\\040e\tf"));
        EXPECT_FALSE(is_mounted("over/a"));
        for (const char* path : {"over/a/b", "over/c d\\040e\tf"})
            ASSERT_EQ(::umount2(root_.at(path).c_str(), 0), 0);
    }
}

TEST_F(SubmountsTest, OfADirectoryAreThoseBelowItOnly)
{
    root_.directory("below/ab");
    mount_tmpfs("below/ab");
    mount_tmpfs("below/a/b");

    ASSERT_EQ(carry_submounts(bench, open("below/a").get(), open("over/a").get()), 0);

    EXPECT_TRUE(is_mounted("over/a/b"));
}

TEST_F(SubmountsTest, ThatAreHiddenStayHidden)
{
    mount_tmpfs("below/a/b");
    mount_tmpfs("below/a"); // without b

    ASSERT_EQ(carry_submounts(bench, open("below").get(), open("over").get()), 0);

    EXPECT_TRUE(is_mounted("over/a"));
    EXPECT_EQ(open("over/a/b").get(), -1);
}

TEST_F(SubmountsTest, ThatCannotBeCarriedAreAnError)
{
    mount_tmpfs("below/a");
    ASSERT_EQ(::mount(nullptr, root_.at("below/a").c_str(), nullptr, MS_UNBINDABLE, nullptr), 0);

    EXPECT_EQ(carry_submounts(bench, open("below").get(), open("over").get()), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(carry_submounts_by_table(bench, open("below").get(), open("over").get()), -1);
}

/// As a thread that is in a container's mount namespace with a root of the host's.
TEST_F(SubmountsTest, OutOfReachOfTheRootDirectoryNeedATableFromThere)
{
    mount_tmpfs("below/a");
    root_.directory("jail");
    mount_tmpfs("jail");
    root_.directory("jail/proc");
    ASSERT_EQ(::mount("/proc", root_.at("jail/proc").c_str(), nullptr, MS_BIND | MS_REC, nullptr),
              0);
    const UniqueFd below = open("below");
    const UniqueFd over = open("over");
    const UniqueFd root(::open("/", O_PATH | O_CLOEXEC));
    const UniqueFd table(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::chroot(root_.at("jail").c_str()), 0);

    const int by_kernel = carry_submounts(bench, below.get(), over.get());
    const int kernel_error = errno;
    const int by_own_table = carry_submounts_by_table(bench, below.get(), over.get());
    const int own_table_error = errno;
    const int count = count_below_by_table(below.get());
    const int given = carry_submounts(bench, below.get(), over.get(), table.get());
    const int again = count_below_by_table(below.get(), table.get());
    ASSERT_EQ(::fchdir(root.get()), 0);
    ASSERT_EQ(::chroot("."), 0);

    EXPECT_EQ(by_kernel, -1);
    EXPECT_EQ(kernel_error, EXDEV);
    EXPECT_EQ(by_own_table, -1);
    EXPECT_EQ(own_table_error, EXDEV);
    EXPECT_EQ(count, -1);
    EXPECT_EQ(given, 0);
    EXPECT_EQ(again, 1);
    EXPECT_TRUE(is_mounted("over/a"));
    (void)::umount2(root_.at("jail").c_str(), MNT_DETACH);
}

TEST_F(SubmountsTest, AreCountedAtAnyDepth)
{
    EXPECT_EQ(count_below(open("below").get()), 0);
    EXPECT_EQ(count_below_by_table(open("below").get()), 0);

    mount_tmpfs("below/a");
    root_.directory("below/a/deeper");
    mount_tmpfs("below/a/deeper");
    mount_tmpfs("below/c d\\040e\tf");
    mount_tmpfs("over/a");

    EXPECT_EQ(count_below(open("below").get()), 3);
    EXPECT_EQ(count_below_by_table(open("below").get()), 3);
}

TEST_F(SubmountsTest, AreKnownToTheTableByTheirIdentity)
{
    mount_tmpfs("below/a");
    ASSERT_EQ(::mount(nullptr, root_.at("below/a").c_str(), nullptr, MS_SHARED, nullptr), 0);
    std::uint64_t shared = 0;
    std::uint64_t isolated = 0;
    ASSERT_TRUE(table_id(open("below/a").get(), shared));
    ASSERT_TRUE(table_id(open("below").get(), isolated));

    EXPECT_TRUE(is_on(open("below/a").get(), shared));
    EXPECT_FALSE(is_on(open("below/a").get(), isolated));
    EXPECT_TRUE(is_on(open("below/a").get(), mount_id(open("below/a").get())));
    EXPECT_TRUE(look_up(shared, own_table).shared);
    EXPECT_FALSE(look_up(isolated, own_table).shared);
    EXPECT_TRUE(exists(shared));
    ASSERT_EQ(::umount2(root_.at("below/a").c_str(), 0), 0);
    EXPECT_FALSE(exists(shared));
    EXPECT_EQ(look_up(shared, own_table).found, Found::no);
}

} // namespace
} // namespace gpucontainer::mount
