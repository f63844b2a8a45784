// SPDX-License-Identifier: MIT
#include "drivers/nvidia/extras.hpp"

#include "base/format.hpp"
#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace gpucontainer::drivers::nvidia {
namespace {

using model::Capability;
using model::SharedPath;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExtrasTest : public ::testing::Test {
protected:
    ExtrasTest() { system_.directory("tmp"); }

    std::vector<std::string> shared(const std::vector<model::DeviceNode>& nodes = {})
    {
        std::vector<std::string> all;
        for (const SharedPath& one :
             shared_paths(system_.at("tmp").parent_path().string(), nodes, findings_))
            all.push_back(base::format("{} {} {} {} {}", name(one.kind), one.path,
                                       name(one.capability), one.extra,
                                       one.accessible ? "usable" : "closed"));
        return all;
    }

    test::TempRoot system_;
    model::Findings findings_;
};

TEST_F(ExtrasTest, AreTheDirectoryOfMps)
{
    EXPECT_THAT(shared(), IsEmpty());
    system_.directory("tmp/nvidia-mps");
    EXPECT_THAT(shared(), ElementsAre("directory /tmp/nvidia-mps compute mps usable"));
}

TEST_F(ExtrasTest, AreOfTheirKindAndNoLinks)
{
    system_.file("tmp/nvidia-mps");
    system_.file("run/nvidia-persistenced/socket");
    EXPECT_THAT(shared(), IsEmpty());

    std::filesystem::remove(system_.at("tmp/nvidia-mps"));
    system_.link("tmp/nvidia-mps", "/etc");
    EXPECT_THAT(shared(), IsEmpty());
}

TEST_F(ExtrasTest, AreNotAnybodysInADirectoryThatOthersMayWrite)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a directory away";
    system_.directory("tmp/nvidia-mps");
    ASSERT_EQ(::chown(system_.at("tmp/nvidia-mps").c_str(), 65534, 65534), 0);
    EXPECT_THAT(shared(), ElementsAre("directory /tmp/nvidia-mps compute mps usable"));

    ASSERT_EQ(::chmod(system_.at("tmp").c_str(), 01777), 0);
    EXPECT_THAT(shared(), IsEmpty());
    ASSERT_EQ(findings_.size(), 1U);
    EXPECT_EQ(findings_[0].message(), "/tmp/nvidia-mps: belongs to user 65534, in a directory that "
                                      "others may write");
}

TEST_F(ExtrasTest, OfDirectStorageAreThereWithItsNodes)
{
    system_.file("etc/cufile.json", "{}");
    system_.directory("run/udev");
    EXPECT_THAT(shared(), IsEmpty());

    model::DeviceNode node;
    node.extra = "gds";
    EXPECT_THAT(shared({node}), ElementsAre("file /etc/cufile.json none gds usable",
                                            "directory /run/udev none gds usable"));
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
