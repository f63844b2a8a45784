// SPDX-License-Identifier: MIT
#include "image/open_root.hpp"

#include "image/file_system.hpp"

#include "unit/image/made_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <random>
#include <sys/wait.h>

namespace gpucontainer::image {
namespace {

using rootfs::EntryType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t limit = 1U << 20U;

std::unique_ptr<rootfs::RootView> opened(const std::string& content)
{
    auto view = open_root(test::file_of(content).get());
    EXPECT_TRUE(view) << view.error().message();
    return view ? *std::move(view) : nullptr;
}

class OpenRootTest : public ::testing::Test {
protected:
    OpenRootTest()
    {
        tree_.file("usr/lib/libx.so.1", "12345");
        tree_.link("usr/lib/libx.so", "libx.so.1");
        tree_.link("lib", "usr/lib");
        tree_.link("absolute", "/usr/lib/libx.so");
        tree_.link("out", "../../../usr/lib/../lib/libx.so.1");
        tree_.link("self", "self");
        tree_.link("dangling", "/nothing");
        tree_.directory("empty");
        tree_.file("large", large());
        tree_.file("sparse", sparse());
    }

    /// More than a block, of which no two parts are alike.
    static std::string large()
    {
        std::string text;
        for (unsigned line = 0; text.size() < 700'000; ++line)
            text += std::to_string(line) + "\n";
        return text;
    }

    /// A block of zeros is not stored, whatever its size is.
    static std::string sparse() { return "start" + std::string(2'500'000, '\0') + "end"; }

    test::TempRoot tree_;
};

TEST_F(OpenRootTest, SeesWhatADirectoryShows)
{
    for (const char* const how : {"-comp gzip", "-comp xz", "-comp zstd", "-comp lz4",
                                  "-noI -noD -noF -noX", "-no-fragments", "-always-use-fragments",
                                  "-b 4096", "-b 1M", "-b 1M -always-use-fragments"}) {
        SCOPED_TRACE(how);
        const auto view = opened(test::squashfs_of(tree_, how));
        ASSERT_NE(view, nullptr);
        EXPECT_EQ(view->look("/lib/libx.so").type, EntryType::link);
        EXPECT_EQ(view->resolve("/lib/libx.so").type, EntryType::regular);
        EXPECT_EQ(view->resolve("/lib/libx.so").size, 5U);
        EXPECT_TRUE(view->resolve("/absolute").same_file(view->look("/usr/lib/libx.so.1")));
        EXPECT_EQ(view->link_target("/lib/libx.so"), "libx.so.1");
        EXPECT_THAT(*view->list("/usr/lib", limit), ElementsAre("libx.so", "libx.so.1"));
        EXPECT_THAT(view->present("/lib", {"a", "libx.so", "libx.so.1", "z"}),
                    ElementsAre("libx.so", "libx.so.1"));
        EXPECT_EQ(*view->read("/absolute", limit), "12345");
        EXPECT_EQ(*view->read("/large", limit), large());
        EXPECT_TRUE(*view->read("/sparse", sparse().size()) == sparse());
        EXPECT_TRUE(view->is_empty_directory("/empty"));
        EXPECT_FALSE(view->is_empty_directory("/usr"));
        EXPECT_TRUE(view->check());
    }
}

TEST_F(OpenRootTest, LetsNoLinkLeadOut)
{
    const auto view = opened(test::squashfs_of(tree_));
    EXPECT_EQ(*view->read("/out", limit), "12345");
    EXPECT_TRUE(view->look("/../..").same_file(view->look("/")));
    EXPECT_FALSE(view->resolve("/self"));
    EXPECT_FALSE(view->resolve("/dangling"));
    EXPECT_FALSE(view->resolve("/usr/lib/libx.so.1/more"));
    EXPECT_TRUE(view->check()) << "there are no such names, and that is known";
}

TEST_F(OpenRootTest, CannotBeWritten)
{
    const auto view = opened(test::squashfs_of(tree_));
    EXPECT_FALSE(view->is_for_names("/usr"));
    EXPECT_TRUE(view->facts().read_only);
    EXPECT_FALSE(view->facts().writable);
}

TEST_F(OpenRootTest, ReadsAPartOfAFile)
{
    const auto view = opened(test::squashfs_of(tree_));
    const auto file = view->open("/large");
    ASSERT_TRUE(file) << file.error().message();
    std::string bytes(10, '\0');
    constexpr std::size_t far = 600'000;
    EXPECT_EQ(*file->read(bytes, far), bytes.size());
    EXPECT_EQ(bytes, large().substr(far, bytes.size()));
    EXPECT_EQ(*file->size(), large().size());
    EXPECT_EQ(*file->read(bytes, large().size()), 0U);
    // The rest is not there.
    std::string start(10, 'x');
    ASSERT_EQ(::pread(file->get().fd(), start.data(), start.size(), 0), 10);
    EXPECT_EQ(start, std::string(10, '\0'));
}

TEST_F(OpenRootTest, ReadsNoMoreThanTheLimit)
{
    const auto view = opened(test::squashfs_of(tree_));
    EXPECT_EQ(view->read("/large", 1000).error().os_error(), EFBIG);
    EXPECT_EQ(view->list("/usr/lib", 1).error().os_error(), EFBIG);
    EXPECT_FALSE(view->open("/usr"));
    EXPECT_EQ(view->open("/nothing").error().os_error(), ENOENT);
}

TEST_F(OpenRootTest, LeavesNoProcess)
{
    opened(test::squashfs_of(tree_)).reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST_F(OpenRootTest, SaysThatAnImageIsDamaged)
{
    std::string image = test::squashfs_of(tree_);
    constexpr std::size_t inodes_at = 64;
    image[inodes_at] = '\x7f';
    const auto view = open_root(test::file_of(image).get());
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code(), Errc::rootfs);
    EXPECT_THAT(view.error().message(), HasSubstr("it is damaged"));
}

TEST_F(OpenRootTest, ReadsNothingBeyondABlock)
{
    test::TempRoot tree;
    tree.file("short", "12345");
    std::string image = test::squashfs_of(tree, "-noI -noD -noF -noX");
    // Of its inode: where blocks start, the number and the place of its fragment, and its size.
    const std::string before(12, '\0');
    const std::size_t at = image.find(before + std::string("\5\0\0\0", 4));
    ASSERT_NE(at, std::string::npos);
    image[at + before.size()] = 100;
    const auto view = opened(image);
    ASSERT_EQ(view->resolve("/short").size, 100U);
    const auto read = view->read("/short", limit);
    ASSERT_FALSE(read);
    EXPECT_EQ(os_error_of(read.error()), EBADMSG);
}

TEST_F(OpenRootTest, SaysThatTheMethodIsNotKnown)
{
    std::string image = test::squashfs_of(tree_);
    constexpr std::size_t method_at = 20;
    image[method_at] = 3; // lzo
    const auto view = open_root(test::file_of(image).get());
    ASSERT_FALSE(view);
    EXPECT_EQ(view.error().code(), Errc::requirement);
}

/// Looks at everything, to a depth.
void look_at_all(const rootfs::RootView& view, const std::string& directory, int depth)
{
    const auto names = view.list(directory, 100);
    if (!names || depth == 0)
        return;
    for (const std::string& name : *names) {
        const std::string path = directory + "/" + name;
        (void)view.look(path);
        (void)view.link_target(path);
        (void)view.read(path, limit);
        look_at_all(view, path, depth - 1);
    }
}

TEST_F(OpenRootTest, SurvivesDamageOfEachKind)
{
    const std::string good = test::squashfs_of(tree_, "-noI -noD -noF -noX -b 4096");
    std::mt19937 random(1); // NOLINT: the same each time
    for (int round = 0; round < 300; ++round) {
        std::string image = good;
        for (int change = 0; change < 1 + round % 8; ++change)
            image[round % 2 == 0 ? image.size() - 1 - random() % 1500 : random() % 96] =
                static_cast<char>(random());
        const auto view = open_root(test::file_of(image).get());
        if (view)
            look_at_all(**view, "", 4);
    }
}

} // namespace
} // namespace gpucontainer::image
