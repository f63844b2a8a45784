// SPDX-License-Identifier: MIT
#include "cgroup/devices.hpp"
#include "cgroup/levels.hpp"

#include "support/control_group.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <optional>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::cgroup {
namespace {

using base::UniqueFd;
using test::ControlGroup;
using test::IdleProcess;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Version = ControlGroup::Version;

class DevicesTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "this is for root";
    }

    /// Puts the process into a group of its own; false where there can be none.
    bool make(std::optional<ControlGroup>& group, Version version)
    {
        auto made = ControlGroup::make(version);
        if (made)
            group.emplace(*std::move(made));
        return group && group->add(process_.pid());
    }

    Answer ask()
    {
        const auto groups = Groups::of_process(process_.pidfd());
        EXPECT_TRUE(groups) << groups.error().message();
        return groups ? groups->ask(nodes_) : Answer();
    }

    std::optional<ControlGroup> unified_;
    std::optional<ControlGroup> devices_;
    IdleProcess process_;
    UniqueFd null_{::open("/dev/null", O_PATH | O_CLOEXEC)};
    UniqueFd zero_{::open("/dev/zero", O_PATH | O_CLOEXEC)};
    std::vector<Node> nodes_ = {{null_.get(), {1, 3}}, {zero_.get(), {1, 5}}};
};

TEST_F(DevicesTest, AreAllowedInTheCallersOwnGroups)
{
    const Answer found = ask();

    EXPECT_THAT(found.verdicts, Each(Verdict::allowed));
    EXPECT_EQ(found.unknown, "");
}

TEST_F(DevicesTest, AreDeniedByAProgram)
{
    if (!make(unified_, Version::unified))
        GTEST_SKIP() << "no control group of version 2 can be made";
    EXPECT_THAT(ask().verdicts, Each(Verdict::allowed));
    if (!unified_->forbid(1, 5))
        GTEST_SKIP() << "no program can be attached";

    const Answer found = ask();

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::allowed, Verdict::denied));
    EXPECT_EQ(found.group, unified_->path());
    EXPECT_EQ(found.unknown, "");
}

TEST_F(DevicesTest, AreDeniedByTheGroupAboveThatForbidsThem)
{
    if (!make(unified_, Version::unified) || !unified_->forbid(1, 5))
        GTEST_SKIP() << "this takes control groups of version 2 with programs";
    const std::string below = unified_->place() + "/below";
    ASSERT_EQ(::mkdir(below.c_str(), 0755), 0);
    const UniqueFd procs(::open((below + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string number = std::to_string(process_.pid());
    ASSERT_GT(::write(procs.get(), number.data(), number.size()), 0);

    const Answer found = ask();
    process_.end();
    while (::rmdir(below.c_str()) != 0 && errno == EBUSY)
        ::usleep(1000);

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::allowed, Verdict::denied));
    EXPECT_EQ(found.group, unified_->path());
}

TEST_F(DevicesTest, AreAllowedByTheKernelAsTheProgramIsEvaluated)
{
    if (!make(unified_, Version::unified) || !unified_->forbid(1, 5))
        GTEST_SKIP() << "this takes control groups of version 2 with programs";
    const auto group = Group::of_process(cgroup::Version::unified, unified_->path(),
                                         std::to_string(process_.pid()));
    ASSERT_TRUE(group);
    std::mt19937 random; // the same ones each time
    const auto below = [&](std::uint32_t end) {
        return static_cast<std::uint32_t>(random() % end);
    };
    constexpr std::uint32_t rounds = 60;
    for (std::uint32_t round = 0; round < rounds; ++round) {
        std::vector<OrderedRule> rules;
        for (std::uint32_t count = below(6); count > 0; --count)
            rules.push_back({below(3) != 0, static_cast<DeviceType>(below(3)),
                             below(2) == 0 ? std::nullopt : std::optional(1U),
                             below(2) == 0 ? std::nullopt : std::optional(3 + 2 * below(2)),
                             below(may_use | may_make) + 1});
        const auto before = programs_of(*group);
        ASSERT_TRUE(before && before->all.size() == 1);
        const auto anew = load_program(*group, rules);
        ASSERT_TRUE(anew);
        ASSERT_TRUE(replace_program(*group, before->all[0].fd.get(), "", anew->get()));
        const auto programs = programs_of(*group);
        ASSERT_TRUE(programs && programs->all.size() == 1);

        const Answer found = ask();

        for (std::size_t i = 0; i < nodes_.size(); ++i)
            EXPECT_EQ(allows(programs->all[0], nodes_[i].number),
                      std::optional(found.verdicts[i] == Verdict::allowed))
                << round << ", " << found.unknown;
    }
}

TEST_F(DevicesTest, AreUnlistedInAListThatLacksThem)
{
    if (!make(devices_, Version::devices))
        GTEST_SKIP() << "no device cgroup of version 1 can be made";
    EXPECT_THAT(ask().verdicts, Each(Verdict::allowed));
    ASSERT_TRUE(devices_->write("devices.deny", "a"));
    ASSERT_TRUE(devices_->write("devices.allow", "c 1:3 rw"));

    const Answer found = ask();

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::allowed, Verdict::unlisted));
    EXPECT_EQ(found.group, devices_->path());
}

/// Which the list does not show.
TEST_F(DevicesTest, AreDeniedByAnExceptionFromAListOfAll)
{
    if (!make(devices_, Version::devices))
        GTEST_SKIP() << "no device cgroup of version 1 can be made";
    ASSERT_TRUE(devices_->write("devices.deny", "c 1:5 rwm"));
    ASSERT_EQ(devices_->read("devices.list"), "a *:* rwm\n");

    const Answer found = ask();

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::allowed, Verdict::denied));
    EXPECT_EQ(found.group, devices_->path());
}

TEST_F(DevicesTest, AreDeniedWhereOneOfBothDeniesThem)
{
    if (!make(devices_, Version::devices) || !make(unified_, Version::unified))
        GTEST_SKIP() << "this takes both versions of control groups";
    ASSERT_TRUE(devices_->write("devices.deny", "a"));
    if (!unified_->forbid(1, 5))
        GTEST_SKIP() << "no program can be attached";

    const Answer found = ask();

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::unlisted, Verdict::denied));
}

TEST_F(DevicesTest, AreNotKnownInAFrozenGroup)
{
    if (!make(unified_, Version::unified))
        GTEST_SKIP() << "no control group of version 2 can be made";
    ASSERT_TRUE(unified_->write("cgroup.freeze", "1"));
    while (unified_->read("cgroup.events").find("frozen 1") == std::string::npos)
        ::usleep(1000);

    const Answer found = ask();

    EXPECT_THAT(found.verdicts, Each(Verdict::unknown));
    EXPECT_EQ(found.unknown, "its cgroup " + unified_->path() + " is frozen");
}

TEST_F(DevicesTest, AreNotKnownOfAProcessThatEnded)
{
    process_.end();

    const auto groups = Groups::of_process(process_.pidfd());

    ASSERT_FALSE(groups);
    EXPECT_EQ(groups.error().message(), "the process has ended");
}

TEST_F(DevicesTest, ThatTheCallerMayNotUseTellNothing)
{
    if (!make(unified_, Version::unified) || !unified_->forbid(1, 5) || !unified_->add(::getpid()))
        GTEST_SKIP() << "this takes control groups of version 2 with programs";
    EXPECT_THAT(ask().verdicts, ElementsAre(Verdict::allowed, Verdict::denied)); // its own group

    auto other = ControlGroup::make(Version::unified); // below
    EXPECT_TRUE(other && other->add(process_.pid()));
    const Answer found = ask();
    const UniqueFd back(
        ::open((unified_->place() + "/../cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::write(back.get(), "0", 1), 1);

    EXPECT_THAT(found.verdicts, ElementsAre(Verdict::allowed, Verdict::unknown));
    EXPECT_THAT(found.unknown, HasSubstr("may not use the device itself"));
}

} // namespace
} // namespace gpucontainer::cgroup
