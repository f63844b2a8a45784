// SPDX-License-Identifier: MIT
#include "plan/extras.hpp"

#include "unit/plan/plan_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::plan {
namespace {

using model::Capability;
using model::SharedPath;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* channel = "device created: /dev/channel3 -> /dev/channel3 ro,nosuid,noexec";

class ExtrasTest : public PlanTest {
protected:
    ExtrasTest()
    {
        root_.directory("/dev");
        root_.directory("/tmp");
        root_.directory("/run");
        model::DeviceNode node = test::make_node("/dev/channel3", 242, 3);
        node.extra = "imex-channel:3";
        driver_.nodes.push_back(node);
    }

    void share(const char* path, SharedPath::Kind kind, Capability capability, const char* extra)
    {
        driver_.shared_paths.push_back({path, kind, capability, extra, 0, true, "reason"});
    }
};

TEST_F(ExtrasTest, AreWords)
{
    EXPECT_THAT(*parse_extras(" gds, no-mps,imex-channel:3,,imex-channel:all"),
                ElementsAre("gds", "imex-channel:3", "imex-channel:all", "no-mps"));
    EXPECT_THAT(*parse_extras(""), IsEmpty());
    for (const char* wrong : {"GDS", "imex-channel:", "imex-channel:-1", "imex-channel:1048576",
                              "imex-channel:x", "no-gds", "mps"}) {
        const auto parsed = parse_extras(wrong);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().code(), Errc::usage);
    }
}

TEST_F(ExtrasTest, BringNodesThatNobodyElseGets)
{
    EXPECT_THAT(items({ItemKind::device}), Not(Contains(channel)));
    for (const char* word : {"imex-channel:3", "imex-channel:all"}) {
        request_.extras = {word};
        EXPECT_THAT(items({ItemKind::device}), Contains(channel)) << word;
    }
    request_.extras = {"imex-channel:4"};
    EXPECT_EQ(problem(), "3 extra imex-channel:4: not on this host");
}

TEST_F(ExtrasTest, BringWhatIsSharedUnlessTheyTakeItAway)
{
    share("/tmp/mps", SharedPath::Kind::directory, Capability::compute, "mps");
    share("/run/fabric", SharedPath::Kind::socket, Capability::none, "fabric-manager");
    const std::string mps = "bind created: /tmp/mps -> /tmp/mps ro,nosuid,nodev,noexec";
    EXPECT_THAT(items({ItemKind::bind}), Contains(mps));
    EXPECT_THAT(items({ItemKind::bind}), Not(Contains("bind created: /run/fabric -> /run/fabric "
                                                      "ro,nosuid,nodev,noexec")));

    request_.extras = {"no-mps", "fabric-manager"};
    EXPECT_THAT(items({ItemKind::bind}), Not(Contains(mps)));
    EXPECT_THAT(items({ItemKind::bind}), Contains("bind created: /run/fabric -> /run/fabric "
                                                  "ro,nosuid,nodev,noexec"));
}

TEST_F(ExtrasTest, AreSharedOverWhatTheImageHasIfThatIsOfTheirKind)
{
    share("/tmp/mps", SharedPath::Kind::directory, Capability::compute, "mps");
    root_.directory("/tmp/mps");
    EXPECT_THAT(items({ItemKind::bind}),
                Contains("bind there: /tmp/mps -> /tmp/mps ro,nosuid,nodev,noexec"));

    driver_.shared_paths[0].path = "/tmp/file";
    root_.file("/tmp/file");
    EXPECT_THAT(skipped("/tmp/file"), ElementsAre("/tmp/file: the image has something else there"));
}

TEST_F(ExtrasTest, AreNotSharedByAnOverlay)
{
    share("/tmp/mps", SharedPath::Kind::directory, Capability::compute, "mps");
    request_.write = Write::never;
    EXPECT_THAT(skipped("/tmp/mps"),
                ElementsAre("/tmp/mps: the image has no such name to mount it over, and is not "
                            "written"));
}

TEST_F(ExtrasTest, DoNotExcuseANodeOfAnotherNumber)
{
    model::DeviceNode node = test::make_node("/dev/uvm", 238, 0, -1, Capability::compute);
    node.required = false;
    node.problem = "is another";
    driver_.missing_nodes = {node};
    EXPECT_EQ(problem(), "3 /dev/uvm: is another");

    request_.capabilities = "utility";
    EXPECT_EQ(problem(), "no error");
}

} // namespace
} // namespace gpucontainer::plan
