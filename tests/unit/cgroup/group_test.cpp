// SPDX-License-Identifier: MIT
#include "cgroup/group.hpp"

#include "support/control_group.hpp"

#include <cstdio>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpucontainer::cgroup {
namespace {

using test::ControlGroup;
using test::IdleProcess;
using ::testing::HasSubstr;

constexpr DeviceNumber device = {195, 0};

class GroupTest : public ::testing::TestWithParam<ControlGroup::Version> {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "this is for root";
        group_ = ControlGroup::make(GetParam());
        if (!group_)
            GTEST_SKIP() << "no such control group can be made";
        ASSERT_TRUE(group_->add(process_.pid()));
    }

    Version version() const
    {
        return GetParam() == ControlGroup::Version::unified ? Version::unified : Version::devices;
    }

    auto find(const std::string& path)
    {
        return Group::of_process(version(), path, std::to_string(process_.pid()));
    }

    std::string problem(const std::string& path)
    {
        const auto found = find(path);
        return found ? "" : found.error().message();
    }

    std::optional<ControlGroup> group_;
    IdleProcess process_;
};

INSTANTIATE_TEST_SUITE_P(, GroupTest,
                         ::testing::Values(ControlGroup::Version::unified,
                                           ControlGroup::Version::devices));

TEST_P(GroupTest, IsThatOfTheProcess)
{
    const auto found = find(group_->path());

    ASSERT_TRUE(found) << found.error().message();
    struct stat status = {};
    ASSERT_EQ(::stat(group_->place().c_str(), &status), 0);
    EXPECT_EQ(*found->id(), (GroupId{status.st_dev, status.st_ino}));
    EXPECT_EQ(found->path(), group_->path());
}

/// A mount may show a part of the hierarchy as if it were all.
TEST_P(GroupTest, IsNoOtherThanThatOfTheProcess)
{
    const auto other = ControlGroup::make(GetParam());
    ASSERT_TRUE(other);

    EXPECT_THAT(problem(other->path()), HasSubstr("the process is not in cgroup " + other->path()));
    EXPECT_THAT(problem(group_->path() + "/none"), HasSubstr("No such file or directory"));
}

TEST_P(GroupTest, IsNotLookedForOutsideOfTheHierarchy)
{
    for (const std::string path : {"/..", "/../..", "/../x", "/x/../..", "x", ""})
        EXPECT_EQ(problem(path), "its cgroup is outside of this process's cgroup namespace")
            << path;
    EXPECT_NE(problem("/" + std::string(8000, 'a')), "");
    EXPECT_NE(problem(group_->path() + "/cgroup.procs"), "");
}

TEST_P(GroupTest, IsFoundAgainAsLongAsItIsThere)
{
    const GroupId id = *find(group_->path())->id();

    const auto found = Group::find(version(), group_->path(), id);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(*(*found)->id(), id);
    const auto another = Group::find(version(), group_->path(), {id.device, id.inode + 1});
    EXPECT_TRUE(another && !*another);
    auto removed = ControlGroup::make(GetParam());
    ASSERT_TRUE(removed);
    struct stat status = {};
    ASSERT_EQ(::stat(removed->place().c_str(), &status), 0);
    const std::string path = removed->path();
    removed.reset();
    const auto gone = Group::find(version(), path, {status.st_dev, status.st_ino});
    EXPECT_TRUE(gone && !*gone);
}

class DeviceGroupTest : public GroupTest {};

INSTANTIATE_TEST_SUITE_P(, DeviceGroupTest, ::testing::Values(ControlGroup::Version::devices));

/// One of version 2 keeps its name.
TEST_P(DeviceGroupTest, IsFoundByAnotherName)
{
    const GroupId id = *find(group_->path())->id();
    const std::string name = group_->place() + "-renamed";
    ASSERT_EQ(::rename(group_->place().c_str(), name.c_str()), 0);

    const auto found = Group::find(version(), group_->path(), id);

    ASSERT_EQ(::rename(name.c_str(), group_->place().c_str()), 0);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(*(*found)->id(), id);
}

TEST_P(DeviceGroupTest, TakesARuleAndGivesItBack)
{
    ASSERT_TRUE(group_->write("devices.deny", "a"));
    ASSERT_TRUE(group_->write("devices.allow", "c 195:0 m"));
    const auto found = find(group_->path());
    ASSERT_TRUE(found);

    EXPECT_TRUE(found->allow(device, may_use));
    EXPECT_EQ(group_->read("devices.list"), "c 195:0 rwm\n");
    EXPECT_TRUE(is_allowed(*found->device_list(), device));
    EXPECT_TRUE(found->deny(device, may_use));
    EXPECT_EQ(group_->read("devices.list"), "c 195:0 m\n");
}

TEST_P(DeviceGroupTest, SaysWhereAGroupAboveForbidsIt)
{
    ASSERT_TRUE(group_->write("devices.deny", "a"));
    const std::string below = group_->place() + "/below";
    ASSERT_EQ(::mkdir(below.c_str(), 0755), 0);
    const auto found = Group::find(Version::devices, group_->path() + "/below", [&] {
        struct stat status = {};
        (void)::stat(below.c_str(), &status);
        return GroupId{status.st_dev, status.st_ino};
    }());
    ASSERT_TRUE(found && *found);

    const auto allowed = (*found)->allow(device, may_use);

    ASSERT_FALSE(allowed);
    EXPECT_EQ(allowed.error().code(), Errc::permission);
    EXPECT_EQ(::rmdir(below.c_str()), 0);
}

} // namespace
} // namespace gpucontainer::cgroup
