// SPDX-License-Identifier: MIT
#include "rootfs/remembered_view.hpp"

#include "rootfs/root.hpp"
#include "support/temp_root.hpp"
#include "unit/rootfs/deep_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace gpucontainer::rootfs {
namespace {

class RememberedViewTest : public ::testing::Test {
protected:
    RememberedViewTest()
    {
        tree_.file("usr/lib/libc.so.6", "content");
        tree_.link("lib", "usr/lib");
        auto opened = Root::open(tree_.open().get());
        EXPECT_TRUE(opened) << opened.error().message();
        root_.emplace(*std::move(opened));
        view_.emplace(*root_);
    }

    test::TempRoot tree_;
    std::optional<Root> root_;
    std::optional<RememberedView> view_;
};

TEST_F(RememberedViewTest, SaysWhatTheOtherViewSays)
{
    EXPECT_EQ(view_->look("/lib").type, EntryType::link);
    EXPECT_EQ(view_->resolve("/lib").type, EntryType::directory);
    EXPECT_EQ(view_->look("/usr/lib/libc.so.6").inode, root_->look("/usr/lib/libc.so.6").inode);
    EXPECT_EQ(view_->look("/usr/lib/libm.so.6").type, EntryType::none);
    EXPECT_EQ(view_->link_target("/lib"), "usr/lib");
    EXPECT_THAT(view_->present("/lib", {"libc.so.6", "libm.so.6"}),
                ::testing::ElementsAre("libc.so.6"));
    EXPECT_FALSE(view_->is_empty_directory("/usr"));
    EXPECT_EQ(*view_->read("/usr/lib/libc.so.6", 64), "content");
}

TEST_F(RememberedViewTest, LooksAtANameOnce)
{
    EXPECT_FALSE(view_->look("/etc"));
    EXPECT_FALSE(view_->resolve("/opt"));
    tree_.file("etc/passwd");
    tree_.file("opt/tool");

    EXPECT_FALSE(view_->look("/etc"));
    EXPECT_FALSE(view_->resolve("/opt"));
    // each question is remembered for itself
    EXPECT_TRUE(view_->resolve("/etc"));
    EXPECT_TRUE(view_->look("/opt"));
}

TEST(RememberedDeepView, ForgetsWhenPathsAreLong)
{
    const test::DeepView deep;
    const RememberedView view(deep);
    const std::string name(4000, 'x');
    view.look("/q");
    view.look("/q");
    EXPECT_EQ(deep.looks, 1U);
    for (int i = 0; i < 5000; ++i)
        view.look("/q/" + std::to_string(i) + name);
    deep.looks = 0;
    view.look("/q");
    EXPECT_EQ(deep.looks, 1U);
}

} // namespace
} // namespace gpucontainer::rootfs
