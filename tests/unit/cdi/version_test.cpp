// SPDX-License-Identifier: MIT
#include "cdi/version.hpp"

#include <gmock/gmock.h>

namespace gpucontainer::cdi {
namespace {

using ::testing::HasSubstr;

Specification plain()
{
    Specification specification;
    specification.kind = "vendor.com/gpu";
    specification.devices.push_back({"gpu0", {}, {{}, {{"/dev/gpu0"}}}});
    return specification;
}

TEST(CdiVersionTest, IsTheOldestWhereNothingNeedsMore)
{
    EXPECT_EQ(lowest_version(plain()).version, "0.3.0");
}

TEST(CdiVersionTest, FollowsFromEachThingThatWasAddedLater)
{
    const auto need = [](auto change) {
        Specification specification = plain();
        change(specification);
        return std::string(lowest_version(specification).version);
    };

    EXPECT_EQ(need([](auto& s) { s.edits.mounts.push_back({"/a", "/b", {}, "tmpfs"}); }), "0.4.0");
    EXPECT_EQ(need([](auto& s) { s.devices[0].edits.nodes[0].host_path = "/dev/a"; }), "0.5.0");
    EXPECT_EQ(need([](auto& s) { s.devices[0].name = "0"; }), "0.5.0");
    EXPECT_EQ(need([](auto& s) { s.annotations["a"] = "b"; }), "0.6.0");
    EXPECT_EQ(need([](auto& s) { s.devices[0].annotations["a"] = "b"; }), "0.6.0");
    EXPECT_EQ(need([](auto& s) { s.kind = "vendor.com/gpu.large"; }), "0.6.0");
    EXPECT_EQ(need([](auto& s) { s.edits.rdt.emplace(); }), "0.7.0");
    EXPECT_EQ(need([](auto& s) { s.devices[0].edits.additional_gids = {44}; }), "0.7.0");
    EXPECT_EQ(need([](auto& s) { s.edits.rdt.emplace().enable_monitoring = true; }), "1.1.0");
    EXPECT_EQ(need([](auto& s) { s.edits.rdt.emplace().schemata = {"MB:0=1"}; }), "1.1.0");
    EXPECT_EQ(need([](auto& s) { s.edits.net_devices.push_back({"eth1", "eth0"}); }), "1.1.0");
}

TEST(CdiVersionTest, SaysWhatNeedsIt)
{
    Specification specification = plain();
    specification.devices[0].name = "0";

    EXPECT_EQ(lowest_version(specification).what, "device 0: a name that begins with a digit");
}

TEST(CdiVersionTest, IsSetToTheLowestUnlessOneIsAskedFor)
{
    Specification specification = plain();

    ASSERT_TRUE(set_version(specification, ""));
    EXPECT_EQ(specification.version, "0.3.0");
    ASSERT_TRUE(set_version(specification, "v1.0.0"));
    EXPECT_EQ(specification.version, "1.0.0");
}

TEST(CdiVersionTest, IsRefusedIfItIsTooOldOrUnknown)
{
    Specification specification = plain();
    specification.edits.additional_gids = {44};

    const auto too_old = set_version(specification, "0.6.0");
    ASSERT_FALSE(too_old);
    EXPECT_EQ(too_old.error().message(),
              "version 0.6.0 of CDI is too old for this: additionalGids needs 0.7.0");
    const auto unknown = set_version(specification, "0.9.0");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().hint(), HasSubstr("0.8.0, 1.0.0"));
}

TEST(CdiVersionTest, IsKnownWithAndWithoutItsLetter)
{
    EXPECT_EQ(known_version("v0.5.0"), "0.5.0");
    for (const char* text : {"", "v", "0.2.0", "0.5", "0.5.0.0", "vv0.5.0", "1.2.0"})
        EXPECT_EQ(known_version(text), "") << text;
}

} // namespace
} // namespace gpucontainer::cdi
