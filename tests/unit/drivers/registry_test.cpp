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
    EXPECT_THAT(site->catalogue.findings, SizeIs(vendors().size()));
    EXPECT_THAT(test::lines(site->catalogue.findings)[0], HasSubstr("is ignored"));
}

TEST_F(SiteTest, LeavesOutAMakerThatCouldBeTakenForAnother)
{
    const auto left_out = [&](const std::string& text) {
        root_.file("d/2.yaml", text);
        const auto site = read();
        EXPECT_TRUE(site) << site.error().message();
        EXPECT_NE(site->find("acme"), nullptr) << "the others go on";
        EXPECT_EQ(site->find("beta") == nullptr, site->find_left_out("beta") != nullptr);
        const LeftOut* const beta = site->find_left_out("beta");
        return beta == nullptr ? "" : beta->reason.substr(beta->reason.find("line"));
    };
    const std::string variables =
        "  variables: [{name: A_DEVICES, reader: library, inside: name}]\n";
    root_.file("d/1.yaml", description("acme", "acme.com/gpu", "Acme") + variables);

    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "Beta")), "");
    EXPECT_EQ(left_out(description("beta", "Acme.com/GPU", "Beta")),
              "line 1: kind Acme.com/GPU is that of acme");
    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "ACME")),
              "line 1: title ACME is that of acme");
    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "nvidia")),
              "line 1: title nvidia is that of nvidia");
    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "\"N-VIDIA \"")),
              "line 1: title N-VIDIA  is that of nvidia");
    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "Beta") + variables),
              "line 1: variable A_DEVICES is that of acme");
    EXPECT_EQ(left_out(description("beta", "beta.com/gpu", "Beta")
                       + "  variables: [{name: CUDA_VISIBLE_DEVICES, reader: library, inside: "
                         "name}]\n"),
              "line 1: variable CUDA_VISIBLE_DEVICES is that of nvidia");
    std::string text = description("beta", "beta.com/gpu", "Beta");
    text.replace(text.find("  nodes: ["), std::string("  nodes: [").size(),
                 "  nodes: [{path: /dev/nvidia-modeset, major: nvidia, minor: 254}, ");
    EXPECT_EQ(left_out(text), "line 1: node /dev/nvidia-modeset of nvidia is that of nvidia");
}

TEST_F(SiteTest, ComparesTheLastDescriptionOfEach)
{
    root_.file("d/1.yaml", description("acme", "beta.com/gpu", "Acme"));
    root_.file("d/2.yaml", description("beta", "beta.com/gpu", "Beta"));
    root_.file("d/3.yaml", description("acme", "acme.com/gpu", "Acme"));

    const auto site = read();

    ASSERT_TRUE(site) << site.error().message();
    EXPECT_NE(site->find("acme"), nullptr);
    EXPECT_NE(site->find("beta"), nullptr);
}

TEST_F(SiteTest, PassesOverRulesForAMakerThatIsLeftOut)
{
    root_.file("d/1.yaml", description("beta", std::string(vendors()[0].cdi_kind)));
    root_.file("d/2.yaml", "vendor: beta\nfiles: []\n");

    const auto site = read();

    ASSERT_TRUE(site) << site.error().message();
    EXPECT_THAT(site->left_out, SizeIs(1));
    EXPECT_EQ(site->vendors.size(), vendors().size());
}

TEST_F(SiteTest, IsBounded)
{
    for (std::size_t i = 0; i <= most_described; ++i)
        root_.file(base::format("d/{:02}.yaml", i),
                   description(base::format("m{}", i), base::format("m{}.com/gpu", i),
                               base::format("M{}", i)));

    EXPECT_THAT(read().error().message(), HasSubstr("64.yaml: line 1: more than 64 makers"));
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
