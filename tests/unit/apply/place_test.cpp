// SPDX-License-Identifier: MIT
#include "apply/place.hpp"

#include "support/mounting_fixture.hpp"

namespace gpucontainer::apply {
namespace {

using base::UniqueFd;

class PlaceTest : public test::MountingTest {
protected:
    void SetUp() override
    {
        MountingTest::SetUp();
        root_.directory("root");
    }

    UniqueFd open() const { return MountingTest::open("root"); }

    const std::string path_ = root_.at("root");
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
