// SPDX-License-Identifier: MIT
#include "apply/place.hpp"

#include "base/unique_fd.hpp"
#include "mount/calls.hpp"
#include "support/temp_root.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

/// In a mount namespace of its own.
class PlaceTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            GTEST_SKIP() << "no mount namespace can be made here";
        if (mount::probe_backend() == mount::Backend::legacy)
            GTEST_SKIP() << "no detached mounts";
        ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
        root_.directory("root");
        bench_.backend = mount::probe_backend();
    }

    UniqueFd open() const
    {
        return UniqueFd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }

    test::TempRoot root_;
    const std::string path_ = root_.at("root");
    mount::Bench bench_;
};

TEST_F(PlaceTest, IsNotLeftInPlaceOfWhatSomebodyMountedOverIt)
{
    const UniqueFd below = open();
    auto place = Place::of_directory(bench_, below.get());
    ASSERT_TRUE(place && place->is_bind() && place->enter());
    ASSERT_EQ(::mount("foreign", path_.c_str(), "tmpfs", 0, nullptr), 0);
    const std::uint64_t foreign = mount::mount_id(open().get());

    EXPECT_FALSE(place->leave());
    EXPECT_TRUE(mount::exists(foreign));
    EXPECT_TRUE(mount::exists(mount::mount_id(place->fd())));

    ASSERT_EQ(::umount2(path_.c_str(), 0), 0);
    EXPECT_TRUE(place->leave());
    EXPECT_FALSE(mount::is_mount_root(open().get()));
}

TEST_F(PlaceTest, IsNothingToLeaveThatWasNotEntered)
{
    const UniqueFd below = open();
    const auto place = Place::of_directory(bench_, below.get());
    ASSERT_TRUE(place && place->is_bind());

    EXPECT_TRUE(place->leave());
    EXPECT_FALSE(mount::is_mount_root(open().get()));
}

} // namespace
} // namespace gpucontainer::apply
