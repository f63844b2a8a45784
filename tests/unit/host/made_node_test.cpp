// SPDX-License-Identifier: MIT
#include "host/made_node.hpp"
#include "support/temp_root.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpucontainer::host {
namespace {

/// By the owner of the directory, who cannot make a node. This is asked for before that.
TEST(MadeNodeTest, IsNotMadeWithoutAnOwner)
{
    const test::TempRoot root;
    const base::UniqueFd directory = root.open();
    LackingNode node = {1, 3, 0666, UINT32_MAX, 0};

    EXPECT_EQ(make_node(directory.get(), "null", node).text, "it is not known who would own it");
    node = {1, 3, 0666, 0, UINT32_MAX};
    EXPECT_EQ(make_node(directory.get(), "null", node).text, "it is not known who would own it");

    struct stat status = {};
    EXPECT_NE(::fstatat(directory.get(), "null", &status, AT_SYMLINK_NOFOLLOW), 0);
}

} // namespace
} // namespace gpucontainer::host
