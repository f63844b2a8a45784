// SPDX-License-Identifier: MIT
#include "drivers/registry.hpp"

#include "base/format.hpp"
#include "support/temp_root.hpp"
#include "unit/drivers/described.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace gpucontainer::drivers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class SiteTest : public ::testing::Test {
protected:
    static std::string description(const std::string& name, const std::string& kind,
                                   const std::string& title = "Some")
    {
        return base::format(
            "vendor: {}\nmaker:\n  title: {}\n  kind: {}\n  module: m\n"
            "  gpus: {{driver: d, class: c, name: \"c{{number}}\", order: number}}\n"
            "  nodes: [{{path: \"/dev/c{{number}}\"}}]\n",
            name, title, kind);
    }

    Result<Site> read() const { return Site::read(root_.at("d").string(), {}); }

    test::TempRoot root_;
};

TEST_F(SiteTest, HasTheMakersThatItsFilesDescribe)
{
    root_.file("d/1.yaml", description("acme", "acme.com/gpu", "Old"));
    root_.file("d/2.yaml", description("acme", "acme.com/gpu"));
    root_.file("d/3.yaml", "vendor: acme\nfiles: []\n");

    const auto site = read();

    ASSERT_TRUE(site) << site.error().message();
    EXPECT_EQ(site->vendors.size(), vendors().size() + 1);
    ASSERT_NE(site->find("acme"), nullptr);
    EXPECT_EQ(site->find("acme")->title, "Some") << "the later one counts";
    EXPECT_EQ(find_vendor("acme"), nullptr) << "for this call alone";
}

TEST_F(SiteTest, HasNoVendorThatNobodyDescribes)
{
    root_.file("d/1.yaml", "# a comment\nvendor: acme\nfiles: []\n");

    const auto site = read();

    ASSERT_FALSE(site);
    EXPECT_EQ(site.error().code(), Errc::usage);
    EXPECT_EQ(site.error().message(),
              "catalogue: " + root_.at("d/1.yaml").string() + ": line 2: unknown vendor acme");
}

TEST_F(SiteTest, LeavesBuiltInMakersAsTheyAre)
{
    for (const Vendor& vendor : vendors())
        root_.file(base::format("d/{}.yaml", vendor.name),
                   description(std::string(vendor.name), "acme.com/gpu", "Changed"));

    const auto site = read();

    ASSERT_TRUE(site) << site.error().message();
    ASSERT_EQ(site->vendors.size(), vendors().size());
    for (const Vendor& vendor : vendors())
        EXPECT_EQ(site->find(vendor.name)->title, vendor.title);
    EXPECT_THAT(site->catalogue.skipped, SizeIs(vendors().size()));
    EXPECT_THAT(test::lines(site->catalogue.skipped)[0], HasSubstr("it does not count"));
}

TEST_F(SiteTest, RefusesAKindThatIsTaken)
{
    root_.file("d/1.yaml", description("acme", std::string(vendors()[0].cdi_kind)));

    EXPECT_THAT(
        read().error().message(),
        HasSubstr(base::format("kind {} is that of {}", vendors()[0].cdi_kind, vendors()[0].name)));
}

TEST(Registry, HasEachVendorAndKindOnce)
{
    for (const Vendor& vendor : vendors()) {
        EXPECT_EQ(std::ranges::count(vendors(), vendor.name, &Vendor::name), 1);
        EXPECT_EQ(std::ranges::count(vendors(), vendor.cdi_kind, &Vendor::cdi_kind), 1);
        EXPECT_TRUE(vendor.maker == nullptr || vendor.name == vendor.maker->name);
    }
}

TEST(Registry, KnowsEveryWordOfADescription)
{
    for (const std::string_view reader : config::reader_names)
        EXPECT_TRUE(model::parse_reader(reader)) << reader;
    for (const std::string_view inside : config::inside_names)
        EXPECT_TRUE(model::parse_inside(inside)) << inside;
}

} // namespace
} // namespace gpucontainer::drivers
