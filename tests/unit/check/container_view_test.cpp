// SPDX-License-Identifier: MIT
#include "check/container_view.hpp"

#include "rootfs/root.hpp"
#include "support/temp_root.hpp"
#include "unit/rootfs/deep_view.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpucontainer::check {
namespace {

using rootfs::EntryType;
using ::testing::ElementsAre;
using ::testing::StartsWith;

class ContainerViewTest : public ::testing::Test {
protected:
    ContainerViewTest()
    {
        image_.directory("usr/lib");
        image_.directory("etc");
        image_.link("lib", "usr/lib");
        host_.file("libd.so.2", "of the host");
    }

    void add(plan::Item item) { plan_.items.push_back(std::move(item)); }

    plan::Bind bind(const std::string& name, bool is_directory = false) const
    {
        return {host_.at(name).string(), id_of(name), is_directory};
    }

    model::FileId id_of(const std::string& name) const
    {
        struct stat status = {};
        EXPECT_EQ(::stat(host_.at(name).c_str(), &status), 0);
        return model::FileId::of(status);
    }

    /// What can be seen once all items are there.
    template <typename Look>
    auto look(const Look& look)
    {
        const base::UniqueFd top = image_.open();
        const auto root = rootfs::Root::open(top.get());
        return look(ContainerView(*root, plan_));
    }

    std::string read(const std::string& path)
    {
        return look([&](const ContainerView& view) {
            const auto content = view.read(path, 100);
            return content ? *content : "error: " + content.error().message();
        });
    }

    test::TempRoot image_;
    test::TempRoot host_;
    plan::Plan plan_;
};

TEST_F(ContainerViewTest, HasWhatTheImageHas)
{
    image_.file("usr/lib/libx.so.1", "of the image");
    EXPECT_EQ(read("/lib/libx.so.1"), "of the image");
}

TEST_F(ContainerViewTest, HasFilesOfTheHostInATreeThatHidesTheImages)
{
    image_.file("usr/lib/tree/old", "of the image");
    add({plan::Tree(), "/usr/lib/tree"});
    add({bind("libd.so.2"), "/usr/lib/tree/lib64/libd.so.2"});
    add({plan::Symlink{"libd.so.2"}, "/usr/lib/tree/lib64/libd.so.1"});
    EXPECT_EQ(read("/lib/tree/lib64/libd.so.1"), "of the host");
    look([&](const ContainerView& view) {
        EXPECT_FALSE(view.resolve("/usr/lib/tree/old"));
        EXPECT_EQ(view.look("/lib/tree/lib64/libd.so.1").type, EntryType::link);
        EXPECT_EQ(view.link_target("/lib/tree/lib64/libd.so.1"), "libd.so.2");
        EXPECT_EQ(view.resolve("/lib/tree/lib64/libd.so.1").inode, id_of("libd.so.2").inode);
        EXPECT_EQ(view.host_file("/lib/tree/lib64/libd.so.1"), host_.at("libd.so.2").string());
        EXPECT_THAT(*view.list("/usr/lib/tree", 10), ElementsAre("lib64"));
        EXPECT_THAT(*view.list("/usr/lib/tree/lib64", 10), ElementsAre("libd.so.1", "libd.so.2"));
        EXPECT_FALSE(view.is_empty_directory("/usr/lib/tree"));
        return 0;
    });
}

TEST_F(ContainerViewTest, CoversWhatALinkOfTheImageLeadsTo)
{
    image_.file("usr/lib/libd.so.1.0", "of the image");
    image_.link("usr/lib/libd.so.1", "libd.so.1.0");
    add({plan::Cover{bind("libd.so.2").source, id_of("libd.so.2")}, "/lib/libd.so.1"});
    EXPECT_EQ(read("/usr/lib/libd.so.1.0"), "of the host");
}

TEST_F(ContainerViewTest, DoesNotReadAFileOfTheHostThatWasReplaced)
{
    plan::Bind old = bind("libd.so.2");
    ++old.id.size;
    add({old, "/usr/lib/libd.so.2"});
    look([&](const ContainerView& view) {
        EXPECT_EQ(view.resolve("/usr/lib/libd.so.2").type, EntryType::regular);
        EXPECT_FALSE(view.open("/usr/lib/libd.so.2"));
        return 0;
    });
}

/// It was a real path when it was planned with.
TEST_F(ContainerViewTest, DoesNotReadAFileOfTheHostBehindANewLink)
{
    host_.file("real/libd.so.2", "of the host");
    host_.link("driver", "real");
    add({bind("driver/libd.so.2"), "/usr/lib/libd.so.2", ""});
    EXPECT_THAT(read("/usr/lib/libd.so.2"), StartsWith("error: "));
}

TEST_F(ContainerViewTest, DoesNotFollowLinksOfTheImageToTheHost)
{
    image_.link("usr/lib/libd.so.2", host_.at("libd.so.2").string());
    EXPECT_THAT(read("/usr/lib/libd.so.2"), ::testing::HasSubstr("error"));
}

TEST_F(ContainerViewTest, ShowsGeneratedFilesAndTheNewLoaderCache)
{
    image_.file("etc/ld.so.cache", "old");
    add({plan::LoaderCache{"new"}, "/etc/ld.so.cache"});
    add({plan::GeneratedFile{"made"}, "/etc/OpenCL/vendors/x.icd"});
    EXPECT_EQ(read("/etc/ld.so.cache"), "new");
    EXPECT_EQ(read("/etc/OpenCL/vendors/x.icd"), "made");
    look([&](const ContainerView& view) {
        EXPECT_THAT(*view.list("/etc", 10), ElementsAre("OpenCL", "ld.so.cache"));
        EXPECT_FALSE(view.list("/etc", 1));
        return 0;
    });
}

TEST_F(ContainerViewTest, ShowsWhatIsInADirectoryOfTheHost)
{
    host_.file("data/deep/kernels", "k");
    host_.link("data/link", "deep/kernels");
    host_.link("data/outside", "/etc/passwd");
    add({bind("data", true), "/usr/share/data"});
    EXPECT_EQ(read("/usr/share/data/link"), "k");
    look([&](const ContainerView& view) {
        EXPECT_THAT(*view.list("/usr/share/data", 10), ElementsAre("deep", "link", "outside"));
        // To a program of the container, it leads to a file of the container.
        EXPECT_FALSE(view.open("/usr/share/data/outside"));
        return 0;
    });
}

TEST_F(ContainerViewTest, EndsWithLinksThatLeadToEachOther)
{
    add({plan::Symlink{"b"}, "/usr/lib/a"});
    add({plan::Symlink{"a"}, "/usr/lib/b"});
    look([&](const ContainerView& view) {
        EXPECT_FALSE(view.resolve("/usr/lib/a"));
        EXPECT_EQ(view.look("/usr/lib/a").type, EntryType::link);
        return 0;
    });
}

TEST(DeepContainer, IsLookedAtOnceForEachDirectoryOfAPath)
{
    const test::DeepView image;
    const plan::Plan nothing;
    const ContainerView view(image, nothing);
    const std::string path = test::DeepView::path(1);
    for (std::size_t end = 0; end != std::string::npos;) {
        end = path.find('/', end + 1);
        EXPECT_TRUE(view.look(path.substr(0, end)));
    }
    EXPECT_LE(image.looks, 3 * test::DeepView::depth);
    image.looks = 0;
    EXPECT_TRUE(view.look("/l/a"));
    EXPECT_TRUE(view.look("/l/b"));
    EXPECT_LE(image.looks, test::DeepView::depth + 8);
}

TEST(DeepContainer, HasNothingBelowAFile)
{
    const test::DeepView image;
    const plan::Plan nothing;
    const ContainerView view(image, nothing);
    EXPECT_EQ(view.resolve("/q/file").type, EntryType::regular);
    for (const char* path : {"/q/file/..", "/q/file/.", "/q/file/", "/q/file/../x"})
        EXPECT_FALSE(view.resolve(path)) << path;
    EXPECT_TRUE(view.resolve("/q/x/../y"));
}

TEST(DeepContainer, ForgetsDirectoriesWhenTheyAreMany)
{
    constexpr int many = 200; // of 40 KiB each with those above, twice
    const test::DeepView image;
    const plan::Plan nothing;
    const ContainerView view(image, nothing);
    EXPECT_TRUE(view.look("/l/a"));
    for (int i = 1; i < many; ++i)
        EXPECT_TRUE(view.look(test::DeepView::path(i)));
    image.looks = 0;
    EXPECT_TRUE(view.look("/l/a"));
    EXPECT_GT(image.looks, test::DeepView::depth);
    EXPECT_FALSE(view.is_exhausted());
}

TEST(DeepContainer, IsLookedAtAsFarAsABudgetGoes)
{
    constexpr int many = 3000;
    const test::DeepView image;
    const plan::Plan nothing;
    const ContainerView view(image, nothing);
    for (int i = 1; i < many; ++i)
        view.look(test::DeepView::path(i));
    EXPECT_TRUE(view.is_exhausted());
    EXPECT_LT(image.looks, std::size_t{many} * test::DeepView::depth / 2);
    EXPECT_FALSE(view.look("/q"));
}

TEST_F(ContainerViewTest, HasDeviceNodesThatNobodyOpens)
{
    add({plan::Device{"/dev/null", 1, 3}, "/dev/null"});
    look([&](const ContainerView& view) {
        EXPECT_EQ(view.resolve("/dev/null").type, EntryType::character);
        EXPECT_FALSE(view.open("/dev/null"));
        return 0;
    });
}

} // namespace
} // namespace gpucontainer::check
