// SPDX-License-Identifier: MIT
#include "import/device_rules.hpp"

#include <gtest/gtest.h>
#include <string>

namespace gpucontainer::imports {
namespace {

using cgroup::DeviceType;
using cgroup::OrderedRule;

std::string configuration(const std::string& devices)
{
    return R"({"linux": {"resources": {"devices": )" + devices + "}}}";
}

/// Those of the configuration, without what every container may use.
std::vector<OrderedRule> rules(const std::string& devices)
{
    auto read = read_device_rules(configuration(devices));
    EXPECT_TRUE(read) << read.error().message();
    const std::size_t more = cgroup::rules_of_every_container().size();
    EXPECT_GE(read->size(), more);
    read->resize(read->size() - more);
    return *read;
}

TEST(DeviceRules, AreReadInTheirOrder)
{
    const auto found = rules(R"([{"allow": false, "access": "rwm"},
                                 {"allow": true, "type": "c", "major": 195, "minor": 0,
                                  "access": "rw"},
                                 {"allow": true, "type": "b", "major": 8, "minor": -1,
                                  "access": "m"}])");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_FALSE(found[0].allow);
    EXPECT_EQ(found[0].type, DeviceType::any);
    EXPECT_EQ(found[0].access, cgroup::may_use | cgroup::may_make);
    EXPECT_EQ(found[1].type, DeviceType::character);
    EXPECT_EQ(found[1].major, 195U);
    EXPECT_EQ(found[1].minor, 0U);
    EXPECT_EQ(found[1].access, cgroup::may_use);
    EXPECT_EQ(found[2].type, DeviceType::block);
    EXPECT_FALSE(found[2].minor);
    EXPECT_EQ(found[2].access, cgroup::may_make);
}

TEST(DeviceRules, WithoutThemOnlyWhatEveryContainerUsesIsAllowed)
{
    for (const char* text : {"{}", R"({"linux": null})", R"({"linux": {"resources": {}}})"}) {
        const auto read = read_device_rules(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(read->size(), cgroup::rules_of_every_container().size());
    }
    EXPECT_TRUE(rules("null").empty());
    EXPECT_TRUE(rules("[]").empty());
}

TEST(DeviceRules, WhatIsNotKnownIsAnError)
{
    for (const char* text :
         {"{}", "1", "[1]", "[{}]", R"([{"allow": 1}])", R"([{"allow": true, "type": "x"}])",
          R"([{"allow": true, "type": 1}])", R"([{"allow": true, "major": "195"}])",
          R"([{"allow": true, "major": 4294967296}])", R"([{"allow": true, "minor": 1.5}])",
          R"([{"allow": true, "access": "rx"}])", R"([{"allow": true, "access": 1}])",
          R"([{"allow": true, "type": "c", "major": -2, "access": "rw"}])",
          // Runtimes differ about what these forbid.
          R"([{"allow": false, "type": "a", "major": 8}])", R"([{"allow": false, "minor": 0}])",
          R"([{"allow": false, "access": "m"}])"})
        EXPECT_FALSE(read_device_rules(configuration(text))) << text;
    EXPECT_FALSE(read_device_rules("no"));
    std::string many = "[";
    for (std::size_t i = 0; i < cgroup::most_rules; ++i)
        many += R"({"allow": true},)";
    EXPECT_FALSE(read_device_rules(configuration(many + R"({"allow": true}])")));
}

} // namespace
} // namespace gpucontainer::imports
