// SPDX-License-Identifier: MIT
#include "image/layer_tree.hpp"

#include "image/image_view.hpp"
#include "image/refusal.hpp"
#include "unit/image/made_image.hpp"
#include "unit/image/made_tar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace gpucontainer::image {
namespace {

using rootfs::EntryType;
using test::TarImage;
using ::testing::ElementsAre;

constexpr std::size_t limit = 1U << 20U;

/// An image of layers, and what it shows.
class LayerTreeTest : public ::testing::Test {
protected:
    /// errno or a refusal of the last layer, or 0.
    int unpack(const std::vector<TarImage>& layers)
    {
        std::string all;
        std::vector<Extent> parts;
        for (const TarImage& layer : layers) {
            const std::string bytes = layer.bytes();
            parts.push_back({all.size(), bytes.size()});
            all += bytes;
        }
        file_ = test::file_of(all);
        tree_ = std::make_shared<LayerTree>(file_.get());
        for (const Extent& part : parts)
            if (const auto added = tree_->add(part); !added)
                return os_error_of(added.error());
        view_ = *ImageView::open(tree_);
        return 0;
    }

    std::string content(const std::string& path) const
    {
        const auto text = view_->read(path, limit);
        return text ? *text : "no file";
    }
    std::vector<std::string> names(const std::string& path) const
    {
        const auto list = view_->list(path, limit);
        return list ? *list : std::vector<std::string>{"no directory"};
    }

    base::UniqueFd file_;
    std::shared_ptr<LayerTree> tree_;
    std::unique_ptr<ImageView> view_;
};

TEST_F(LayerTreeTest, ShowsFilesOfATar)
{
    ASSERT_EQ(unpack({TarImage()
                          .directory("usr/")
                          .file("usr/lib/libx.so.1", "12345")
                          .link("usr/lib/libx.so", "libx.so.1")
                          .link("lib", "usr/lib")
                          .add('3', "null")
                          .file("/absolute")}),
              0);
    EXPECT_EQ(content("/lib/libx.so"), "12345");
    EXPECT_THAT(names("/"), ElementsAre("absolute", "lib", "null", "usr"));
    EXPECT_EQ(view_->look("/lib").type, EntryType::link);
    EXPECT_EQ(view_->look("/null").type, EntryType::character);
    EXPECT_EQ(view_->look("/usr/lib/libx.so.1").size, 5U);
    EXPECT_TRUE(view_->check());
}

TEST_F(LayerTreeTest, LetsTheUpperLayerWin)
{
    ASSERT_EQ(unpack({TarImage().directory("d").file("d/a", "1").file("d/b", "1").file("f", "1"),
                      TarImage().directory("d").file("d/a", "2").file("f", "2").file("f", "3")}),
              0);
    EXPECT_EQ(content("/d/a"), "2");
    EXPECT_EQ(content("/d/b"), "1");
    EXPECT_EQ(content("/f"), "3") << "of two in one layer, the last";
}

TEST_F(LayerTreeTest, WhitesOutLowerNames)
{
    ASSERT_EQ(unpack({TarImage().file("d/a").file("d/b").file("e/f/g").file("keep"),
                      TarImage().file("d/.wh.a", "").file(".wh.e", "").file(".wh.none", "")}),
              0);
    EXPECT_THAT(names("/d"), ElementsAre("b"));
    EXPECT_THAT(names("/"), ElementsAre("d", "keep"));
}

TEST_F(LayerTreeTest, WhitesOutNothingOfTheSameLayer)
{
    ASSERT_EQ(unpack({TarImage().file("d/a", "1").file("x", "1"), TarImage()
                                                                      .file("d/new", "2")
                                                                      .file("x", "2")
                                                                      .file("d/.wh..wh..opq", "")
                                                                      .file(".wh.x", "")
                                                                      .file(".wh.d", "")}),
              0);
    EXPECT_THAT(names("/d"), ElementsAre("new"));
    EXPECT_EQ(content("/x"), "2");
}

TEST_F(LayerTreeTest, MakesDirectoriesOpaque)
{
    ASSERT_EQ(unpack({TarImage().file("d/a").file("d/s/b").file("d/s/c").file("other"),
                      TarImage()
                          .directory("d")
                          .file("d/.wh..wh..opq", "")
                          .directory("d/s")
                          .file("d/s/new")}),
              0);
    EXPECT_THAT(names("/d"), ElementsAre("s"));
    EXPECT_THAT(names("/d/s"), ElementsAre("new"));
    EXPECT_THAT(names("/"), ElementsAre("d", "other"));
    // The root too.
    ASSERT_EQ(unpack({TarImage().file("a/b"), TarImage().file(".wh..wh..opq", "").file("new")}), 0);
    EXPECT_THAT(names("/"), ElementsAre("new"));
}

TEST_F(LayerTreeTest, LeavesOutMarksOfAufs)
{
    ASSERT_EQ(unpack({TarImage().file("a").file(".wh..wh.plnk", "").file(".wh..wh.aufs", "")}), 0);
    EXPECT_THAT(names("/"), ElementsAre("a"));
}

TEST_F(LayerTreeTest, ReplacesDirectoriesByFilesAndTheReverse)
{
    ASSERT_EQ(unpack({TarImage().file("d/a").file("f").link("l", "d"),
                      TarImage().file("d", "file").file("f/a", "below").directory("l")}),
              EBADMSG)
        << "nothing is below a file";
    ASSERT_EQ(
        unpack({TarImage().file("d/a").file("f").link("l", "d"),
                TarImage().file("d", "file").directory("f").file("f/a", "below").directory("l")}),
        0);
    EXPECT_EQ(content("/d"), "file");
    EXPECT_EQ(content("/f/a"), "below");
    EXPECT_EQ(view_->look("/l").type, EntryType::directory);
}

TEST_F(LayerTreeTest, FollowsLinksOnTheWayAndStaysInside)
{
    ASSERT_EQ(unpack({TarImage()
                          .directory("usr/lib")
                          .link("lib", "usr/lib")
                          .link("up", "../../..")
                          .link("absolute", "/usr")
                          .link("later", "made/here"),
                      TarImage()
                          .file("lib/x", "x")
                          .file("up/y", "y")
                          .file("absolute/z", "z")
                          .file("../../w", "w")
                          .file("usr/../v", "v")
                          .file("later/u", "u")}),
              0);
    EXPECT_EQ(content("/usr/lib/x"), "x");
    EXPECT_EQ(content("/y"), "y");
    EXPECT_EQ(content("/usr/z"), "z");
    EXPECT_EQ(content("/w"), "w");
    EXPECT_EQ(content("/v"), "v");
    EXPECT_EQ(content("/made/here/u"), "u");
}

TEST_F(LayerTreeTest, ForgetsAWayThatChanged)
{
    // The second name is below what the first one is no more.
    ASSERT_EQ(unpack({TarImage().file("a/x", "1"),
                      TarImage().file("a/y").link("a", "b").directory("b").file("a/z", "2")}),
              0);
    EXPECT_THAT(names("/b"), ElementsAre("z"));
    ASSERT_EQ(unpack({TarImage().file("a/x", "1"), TarImage().file(".wh.a", "").file("a/y", "2")}),
              0);
    EXPECT_THAT(names("/a"), ElementsAre("y"));
}

TEST_F(LayerTreeTest, GivesAFileSeveralNames)
{
    ASSERT_EQ(unpack({TarImage().file("a", "1").link("l", "a").directory("d").link("e", "d"),
                      TarImage()
                          .hard_link("d/b", "a")
                          .hard_link("m", "l")
                          .file("e/x", "x")
                          .hard_link("y", "/e/x")
                          .file("a", "2")}),
              0);
    EXPECT_EQ(content("/d/b"), "1");
    EXPECT_EQ(content("/a"), "2");
    EXPECT_EQ(view_->look("/m").type, EntryType::link);
    EXPECT_TRUE(view_->look("/y").same_file(view_->look("/d/x")));
}

TEST_F(LayerTreeTest, RefusesWhatNoEngineUnpacks)
{
    using Tar = TarImage;
    const std::string long_name(256, 'n');
    for (const Tar& layer :
         {Tar().hard_link("a", "missing"), Tar().directory("d").hard_link("a", "d"),
          Tar().hard_link("a", "/"), Tar().file("f").file("f/x"), Tar().file(".wh.", ""),
          Tar().file(".wh..", ""), Tar().file("d/.wh...", ""), Tar().link("l", "l").file("l/x"),
          Tar().link("a", "b").link("b", "a").file("a/x"), Tar().link("empty", ""),
          Tar().records(Tar::record("path", long_name)).file("f"),
          Tar().records(Tar::record("path", long_name + "/x")).file("f")})
        EXPECT_EQ(unpack({layer}), EBADMSG);
}

TEST_F(LayerTreeTest, KeepsNamesThatMeanTheRoot)
{
    for (const char* const path : {"/", "./", "", "a/..", "../.."})
        EXPECT_EQ(unpack({TarImage().directory(path).file("a")}), 0) << path;
    ASSERT_EQ(unpack({TarImage().file("a"), TarImage().file("..", "f").link(".", "a")}), 0);
    EXPECT_THAT(names("/"), ElementsAre("a"));
}

TEST_F(LayerTreeTest, EndsAtADepth)
{
    // Each layer goes on where a link leads, so that no path is long.
    std::string deep;
    for (int i = 0; i < 1500; ++i)
        deep += "d/";
    using Tar = TarImage;
    const auto once = Tar().records(Tar::record("path", deep)).directory("d");
    EXPECT_EQ(unpack({once}), 0);
    EXPECT_EQ(unpack({once, Tar().file(".wh..wh..opq", "")}), 0);
    const auto twice = Tar()
                           .records(Tar::record("linkpath", deep))
                           .link("l", "d")
                           .records(Tar::record("path", "l/" + deep))
                           .directory("d");
    EXPECT_EQ(unpack({once, twice}), EBADMSG);
}

TEST_F(LayerTreeTest, ReadsPartsOfFiles)
{
    std::string large(100'000, 'x');
    large.replace(50'000, 5, "there");
    ASSERT_EQ(unpack({TarImage().file("large", large).file("small", "12345")}), 0);
    EXPECT_EQ(content("/large"), large);
    const auto place = view_->look("/large").inode;
    std::string bytes(5, '\0');
    EXPECT_EQ(*tree_->read(place, 50'000, bytes), 5U);
    EXPECT_EQ(bytes, "there");
    EXPECT_EQ(*tree_->read(place, 99'998, bytes), 2U);
    EXPECT_EQ(*tree_->read(place, 100'000, bytes), 0U);
    EXPECT_EQ(*tree_->read(place, ~std::uint64_t{0}, bytes), 0U);
}

TEST_F(LayerTreeTest, AnswersNothingAboutWhatIsNotThere)
{
    ASSERT_EQ(unpack({TarImage().file("a").directory("d")}), 0);
    std::string bytes(5, '\0');
    const Reference file = view_->look("/a").inode;
    const Reference directory = view_->look("/d").inode;
    for (const Reference place : {Reference{0}, Reference{4}, ~Reference{0}}) {
        EXPECT_FALSE(tree_->inode(place));
        EXPECT_FALSE(tree_->list(place));
        EXPECT_FALSE(tree_->read(place, 0, bytes));
    }
    EXPECT_FALSE(tree_->list(file));
    EXPECT_FALSE(tree_->read(directory, 0, bytes));
}

TEST_F(LayerTreeTest, SaysThatASparseFileIsNotRead)
{
    ASSERT_EQ(
        unpack(
            {TarImage().records(TarImage::record("GNU.sparse.major", "1")).file("sparse", "map")}),
        0);
    std::string bytes(5, '\0');
    const auto read = tree_->read(view_->look("/sparse").inode, 0, bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(os_error_of(read.error()), static_cast<int>(Refusal::sparse_file));
}

TEST_F(LayerTreeTest, TakesNoMoreThanTheLimits)
{
    constexpr LayerLimits few = {10, 1000, 10};
    using Tar = TarImage;
    Tar many;
    for (int i = 0; i < 11; ++i)
        many.directory("d");
    const Tar deep = Tar().file("1/2/3/4/5/6/7/8/9/10/11", "");
    const Tar long_names = Tar()
                               .file(std::string(99, 'a'), "")
                               .records(Tar::record("linkpath", std::string(902, 't')))
                               .link("l", "t");
    for (const Tar& layer : {many, deep, long_names}) {
        const std::string bytes = layer.bytes();
        file_ = test::file_of(bytes);
        LayerTree tree(file_.get(), few);
        const auto added = tree.add({0, bytes.size()});
        ASSERT_FALSE(added);
        EXPECT_EQ(os_error_of(added.error()), static_cast<int>(Refusal::too_much));
    }
    // Of all layers together.
    const std::string bytes = Tar().directory("a").directory("b").bytes();
    file_ = test::file_of(bytes);
    LayerTree tree(file_.get(), few);
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(tree.add({0, bytes.size()}));
    EXPECT_FALSE(tree.add({0, bytes.size()}));
}

TEST_F(LayerTreeTest, ListsNoMoreNamesThanAreTaken)
{
    const std::string bytes = TarImage().file("a").file("b").file("d/a").bytes();
    file_ = test::file_of(bytes);
    for (const auto& [most, error] : {std::pair(3, 0), std::pair(2, EFBIG)}) {
        LayerTree tree(file_.get(), {100, 1000, static_cast<std::size_t>(most)});
        ASSERT_TRUE(tree.add({0, bytes.size()}));
        const auto listed = tree.list(1);
        EXPECT_EQ(listed ? 0 : os_error_of(listed.error()), error);
    }
}

TEST_F(LayerTreeTest, FindsContentsBehindLinks)
{
    ASSERT_EQ(unpack({TarImage()
                          .file("y/layer.tar", "1234")
                          .link("x/layer.tar", "../y/layer.tar")
                          .link("z", "/x/layer.tar")
                          .link("loop", "loop")
                          .link("out", "../../../y/layer.tar")
                          .directory("d")}),
              0);
    for (const char* const path : {"y/layer.tar", "x/layer.tar", "z", "./z", "/z", "out", "d/../z"})
        EXPECT_EQ(tree_->content_of(path).value_or(Extent{}).size, 4U) << path;
    for (const char* const path : {"", "/", "d", "loop", "missing", "y/layer.tar/x", "missing/x"})
        EXPECT_FALSE(tree_->content_of(path)) << path;
}

} // namespace
} // namespace gpucontainer::image
