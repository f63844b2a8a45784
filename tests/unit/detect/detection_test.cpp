// SPDX-License-Identifier: MIT
#include "detect/detection.hpp"

#include "support/temp_root.hpp"

#include <gtest/gtest.h>

namespace gpucontainer::detect {
namespace {

class RequiredVendorsTest : public ::testing::Test {
protected:
    RequiredVendorsTest() { detection_.vendors = {"acme"}; }

    Result<void> required() const { return require_vendors(detection_, drivers_); }

    void describe_acme(const std::string& title = "Acme")
    {
        root_.file("acme.yaml",
                   "vendor: acme\nmaker:\n  title: " + title
                       + "\n  kind: acme.com/gpu\n  module: m\n"
                         "  gpus: {driver: d, class: c, name: \"c{number}\", order: number}\n"
                         "  nodes: [{path: \"/dev/c{number}\"}]\n");
        detection_.catalogues = {root_.at("acme.yaml").string()};
    }

    test::TempRoot root_;
    Detection detection_;
    std::vector<model::DriverStack> drivers_;
};

TEST_F(RequiredVendorsTest, AreThoseOfTheRecord)
{
    drivers_.resize(1);
    drivers_[0].vendor = "acme";
    drivers_[0].gpus.resize(1);

    EXPECT_TRUE(required());
}

TEST_F(RequiredVendorsTest, MayBeMissing)
{
    describe_acme();

    const auto done = required();

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Errc::no_device);
    EXPECT_EQ(done.error().message(), "no Acme GPU on this host");
}

TEST_F(RequiredVendorsTest, AreNotThoseThatAreLeftOut)
{
    describe_acme("Nvidia");

    const auto done = required();

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Errc::usage);
    EXPECT_EQ(done.error().message(), "catalogue: " + detection_.catalogues[0]
                                          + ": line 1: title Nvidia is that of nvidia");
}

TEST_F(RequiredVendorsTest, AreUnknownWhereNobodyDescribesThem)
{
    const auto done = required();

    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Errc::usage);
    EXPECT_EQ(done.error().message(), "options of the host: unknown vendor 'acme'");
}

} // namespace
} // namespace gpucontainer::detect
