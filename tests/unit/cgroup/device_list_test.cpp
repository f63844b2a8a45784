// SPDX-License-Identifier: MIT
#include "cgroup/device_list.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cgroup {
namespace {

constexpr DeviceNumber gpu = {195, 0};
constexpr DeviceNumber control = {195, 255};

DeviceList list(std::string_view text)
{
    const auto found = parse_device_list(text);
    EXPECT_TRUE(found) << text;
    return found.value_or(DeviceList());
}

TEST(DeviceList, AllowsWhatARuleCovers)
{
    for (const char* const text : {"c 195:0 rw\n", "c 195:0 rwm\n", "c 195:* rwm\n", "c *:0 rw\n",
                                   "c *:* rwm\n", "b 8:* rwm\nc 195:* wr\nc 1:3 rwm\n"})
        EXPECT_TRUE(is_allowed(list(text), gpu)) << text;
}

TEST(DeviceList, AllowsNothingElse)
{
    for (const char* const text :
         {"", "\n", "c 195:0 r\n", "c 195:0 m\n", "c *:* m\nb *:* m\n", "c 195:1 rwm\n",
          "c 194:0 rwm\n", "b 195:0 rwm\n", "b *:* rwm\n"})
        EXPECT_FALSE(is_allowed(list(text), gpu)) << text;
}

/// The kernel takes one rule for a whole access.
TEST(DeviceList, AddsNoTwoRulesUp)
{
    EXPECT_FALSE(is_allowed(list("c 195:0 r\nc 195:* w\n"), gpu));
}

TEST(DeviceList, OfAGroupThatAllowsAllIsShort)
{
    EXPECT_EQ(list("a *:* rwm\n"), (DeviceList{true, {}}));
    EXPECT_TRUE(is_allowed(list("a *:* rwm\n"), gpu));
}

TEST(DeviceList, LacksWhatARuleForTheDeviceAloneLacks)
{
    EXPECT_EQ(missing_access(list(""), gpu), may_use);
    EXPECT_EQ(missing_access(list("c 195:* r\nc 195:0 m\nb 195:0 rw\n"), gpu), may_use);
    EXPECT_EQ(missing_access(list("c 195:0 rm\n"), gpu), may_write);
    EXPECT_EQ(missing_access(list("c 195:0 w\n"), gpu), may_read);
    EXPECT_EQ(missing_access(list("c 195:0 rw\n"), gpu), 0U);
    EXPECT_EQ(missing_access(list("c 195:0 rw\n"), control), may_use);
}

TEST(DeviceList, IsNoneForOtherText)
{
    for (const char* const text :
         {"x", "c 195:0", "c 195:0 ", "c 195:0 x\n", "c 195:0 rr\n", "c 195 rw\n", "c 195:0:1 rw\n",
          "c 195: rw\n", "c :0 rw\n", "c -1:0 rw\n", "c 4294967296:0 rw\n", "a *:* rw\n",
          "a 1:3 rwm\n", "d 195:0 rw\n", "c  195:0 rw\n", "c 195:0 rw x\n", "c 195:0 rw\nno\n"})
        EXPECT_FALSE(parse_device_list(text)) << text;
}

TEST(DeviceList, IsChangedByARuleOfTheSameForm)
{
    EXPECT_EQ(to_text(gpu, may_use), "c 195:0 rw");
    EXPECT_EQ(to_text(control, may_write), "c 195:255 w");
    EXPECT_EQ(list(to_text(gpu, may_use | may_make)).rules,
              (std::vector<DeviceRule>{{195, 0, may_use | may_make}}));
}

} // namespace
} // namespace gpucontainer::cgroup
