// SPDX-License-Identifier: MIT
#include "mount/submounts.hpp"

#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "mount/table.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
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
            for (const char* path : {"/a", "/a/b", "/c d\\e\tf"})
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

    std::vector<std::string> listed(Listing (*list)(int, MountVisitor&)) const
    {
        Collector collector;
        EXPECT_EQ(list(open("below").get(), collector), Listing::complete);
        std::sort(collector.paths.begin(), collector.paths.end());
        return collector.paths;
    }

    bool is_mounted(const std::string& path) const { return is_mount_root(open(path).get()); }

    test::TempRoot root_;
};

TEST_F(SubmountsTest, AreToldByTheKernelAndByTheTableAlike)
{
    mount_tmpfs("below/a");
    root_.directory("below/a/deeper");
    mount_tmpfs("below/a/deeper"); // not on the mount that is asked for
    mount_tmpfs("below/c d\\e\tf");

    const std::vector<std::string> expected = {root_.at("below/a"), root_.at("below/c d\\e\tf")};
    EXPECT_EQ(listed(read_children), expected);
    Collector collector;
    if (list_children(open("below").get(), collector) != Listing::unavailable) {
        EXPECT_EQ(listed(list_children), expected);
    }
}

TEST_F(SubmountsTest, EndWithAVisitorThatFails)
{
    mount_tmpfs("below/a");
    mount_tmpfs("below/c d\\e\tf");

    for (auto* const list : {list_children, read_children}) {
        Collector collector(1);
        EXPECT_EQ(list(open("below").get(), collector), Listing::failed);
        EXPECT_EQ(errno, EINTR);
        EXPECT_EQ(collector.paths.size(), 1U);
    }
}

TEST_F(SubmountsTest, AreCarriedToTheSameNames)
{
    mount_tmpfs("below/a/b");
    mount_tmpfs("below/c d\\e\tf");
    root_.file("below/a/b/note", "here");

    for (auto* const carry : {carry_submounts, carry_submounts_by_table}) {
        ASSERT_EQ(carry(open("below").get(), open("over").get()), 0);

        EXPECT_EQ(root_.read("over/a/b/note"), "here");
        EXPECT_TRUE(is_mounted("over/c d\\e\tf"));
        EXPECT_FALSE(is_mounted("over/a"));
        for (const char* path : {"over/a/b", "over/c d\\e\tf"})
            ASSERT_EQ(::umount2(root_.at(path).c_str(), 0), 0);
    }
}

TEST_F(SubmountsTest, OfADirectoryAreThoseBelowItOnly)
{
    root_.directory("below/ab");
    mount_tmpfs("below/ab");
    mount_tmpfs("below/a/b");

    ASSERT_EQ(carry_submounts(open("below/a").get(), open("over/a").get()), 0);

    EXPECT_TRUE(is_mounted("over/a/b"));
}

TEST_F(SubmountsTest, ThatAreHiddenStayHidden)
{
    mount_tmpfs("below/a/b");
    mount_tmpfs("below/a"); // without b

    ASSERT_EQ(carry_submounts(open("below").get(), open("over").get()), 0);

    EXPECT_TRUE(is_mounted("over/a"));
    EXPECT_EQ(open("over/a/b").get(), -1);
}

TEST_F(SubmountsTest, ThatCannotBeCarriedAreAnError)
{
    mount_tmpfs("below/a");
    ASSERT_EQ(::mount(nullptr, root_.at("below/a").c_str(), nullptr, MS_UNBINDABLE, nullptr), 0);

    EXPECT_EQ(carry_submounts(open("below").get(), open("over").get()), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(carry_submounts_by_table(open("below").get(), open("over").get()), -1);
}

} // namespace
} // namespace gpucontainer::mount
