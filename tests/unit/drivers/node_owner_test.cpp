// SPDX-License-Identifier: MIT
#include "drivers/node_owner.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::drivers {
namespace {

constexpr const char* gpu_address = "0000:01:00.0";
constexpr unsigned misc = 10;
constexpr unsigned handed_out = 240;

class NodeOwnerTest : public ::testing::Test {
protected:
    NodeOwnerTest()
    {
        maker_.driver = "acme_npu";
        maker_.module = "acme_npu";
        gpus_.emplace_back().pci_address = gpu_address;
    }

    std::string obstacle_to(const NodeFacts& node) const
    {
        return obstacle_to_node(maker_, gpus_, node);
    }

    static host::ClassDevice device(const std::string& name, const std::string& driver = "",
                                    const std::string& address = "")
    {
        return {name, "/dev/" + name, misc, 60, address, driver, address};
    }

    config::Maker maker_;
    std::vector<model::Gpu> gpus_;
};

TEST_F(NodeOwnerTest, IsTheKernelDriverOfTheDevice)
{
    const auto own = device("control", "acme_npu");
    const auto other = device("control", "tpm_crb");

    EXPECT_EQ(obstacle_to({misc, &own, "", true}), "");
    EXPECT_EQ(obstacle_to({misc, &other, "", true}), "of the kernel driver tpm_crb");
    EXPECT_EQ(obstacle_to({handed_out, &other, "", true}), "of the kernel driver tpm_crb");
}

TEST_F(NodeOwnerTest, IsTheFunctionThatTheDeviceIsAPartOf)
{
    const auto own = device("x", "other", gpu_address);
    const auto bridge = device("x", "acme_npu", "0000:02:00.0");
    const auto other = device("acme_x", "nvme", "0000:03:00.0");

    EXPECT_EQ(obstacle_to({misc, &own, "", false}), "");
    EXPECT_EQ(obstacle_to({misc, &own, "", true}),
              "of the GPU 0000:01:00.0 only, but described as one for all");
    EXPECT_EQ(obstacle_to({misc, &bridge, "", true}), "");
    EXPECT_EQ(obstacle_to({handed_out, &other, "", true}),
              "of the PCI function 0000:03:00.0, which is not one of these GPUs");
}

TEST_F(NodeOwnerTest, OfNoDeviceNeedsANameOrANumberOfItsOwn)
{
    const auto tun = device("tun");
    const auto named = device("acme-ctl");

    EXPECT_EQ(
        obstacle_to({misc, &tun, "", true}),
        "many drivers have nodes with major number 10, and nothing shows that this one belongs "
        "to acme_npu");
    EXPECT_EQ(obstacle_to({misc, &named, "", true}), "");
    EXPECT_EQ(obstacle_to({handed_out, &tun, "", true}), "");
}

TEST_F(NodeOwnerTest, OfACharacterDriverIsTheSame)
{
    for (const unsigned shared : {0U, 1U, 4U, 5U, 10U, 195U, 226U, 233U, 255U, 383U, 512U})
        EXPECT_NE(obstacle_to({shared, nullptr, "misc", true}), "") << shared;
    for (const unsigned own : {234U, 254U, 384U, 511U})
        EXPECT_EQ(obstacle_to({own, nullptr, "x", true}), "") << own;
    EXPECT_EQ(obstacle_to({195, nullptr, "acme", true}), "");
    EXPECT_NE(obstacle_to({195, nullptr, "acmex", true}), "");
    maker_.driver = "i915";
    EXPECT_NE(obstacle_to({misc, nullptr, "i2c", true}), "") << "one letter is no word";
}

} // namespace
} // namespace gpucontainer::drivers
