// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "search/site_catalogue.hpp"

#include "support/temp_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace gpucontainer::search {

using model::Capability;
using model::FileKind;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto built_in = std::to_array<model::CatalogueRule>({
    {FileKind::library, Capability::compute, Capability::none, "libcuda.so.1", true, false, "CUDA"},
    {FileKind::library, Capability::none, Capability::none, "libGL.so.1", false, true, "GL"},
    {FileKind::tool, Capability::utility, Capability::none, "nvidia-smi", false, false, "shows"},
});

constexpr auto lists = std::to_array<ListFile>({{"nvliblist.conf", "nvidia"}});

/// One catalogue of one library.
std::string rule(const std::string& library, const std::string& more)
{
    return base::format("vendor: nvidia\nfiles:\n  - library: {}\n    reason: the site's\n    {}\n",
                        library, more);
}

class SiteCatalogueTest : public ::testing::Test {
protected:
    std::string path(std::string_view name) const { return root_.at(name).string(); }

    SiteCatalogue read(const std::string& directory, const std::vector<std::string>& files = {})
    {
        auto site = read_site_catalogue(directory, files, lists);
        EXPECT_TRUE(site) << site.error().message();
        return site ? *std::move(site) : SiteCatalogue();
    }

    static std::vector<std::string> texts(model::Catalogue rules)
    {
        std::vector<std::string> all;
        for (const model::CatalogueRule& rule : rules)
            all.push_back(base::format("{} {}{}{}: {}", rule.name, name(rule.capability),
                                       rule.entry ? " entry" : "",
                                       rule.unversioned ? " unversioned" : "", rule.reason));
        return all;
    }

    test::TempRoot root_;
};

TEST_F(SiteCatalogueTest, LeavesTheBuiltInOneAsItIs)
{
    const SiteCatalogue site = read(path("nowhere"));
    const MergedCatalogue merged("nvidia", built_in, site);

    EXPECT_THAT(texts(merged.of_driver()),
                ElementsAre("libcuda.so.1 compute entry: CUDA", "libGL.so.1 none unversioned: GL",
                            "nvidia-smi utility: shows"));
    EXPECT_THAT(merged.of_site(), IsEmpty());
}

TEST_F(SiteCatalogueTest, SaysAnewWhatAFileIsFor)
{
    root_.file("d/a.yaml", rule("libcuda.so.2", "capability: video"));
    root_.file("d/b.yaml", rule("libcuda.so.1", "capability: none\n"
                                                "  - tool: nvidia-smi\n"
                                                "    reason: the site's\n"
                                                "    capability: compute"));

    const SiteCatalogue site = read(path("d"));
    const MergedCatalogue merged("nvidia", built_in, site);

    EXPECT_EQ(texts(merged.of_driver()).front(), "libcuda.so.1 none entry: the site's");
    EXPECT_EQ(texts(merged.of_driver()).back(), "nvidia-smi compute: the site's");
    EXPECT_THAT(merged.of_site(), IsEmpty());
}

TEST_F(SiteCatalogueTest, AddsFilesOfTheDriverAndOthers)
{
    root_.file("a.yaml", rule("libnew.so.1", "capability: compute"));
    root_.file("b.yaml", rule("libibverbs.so.1", "capability: compute\n    unversioned: true"));
    root_.file("c.yaml", rule("libibverbs.so.1", "capability: utility\n    unversioned: true"));

    const SiteCatalogue site = read("", {path("a.yaml"), path("b.yaml"), path("c.yaml")});
    const MergedCatalogue merged("nvidia", built_in, site);

    EXPECT_EQ(texts(merged.of_driver()).back(), "libnew.so.1 compute: the site's");
    EXPECT_THAT(texts(merged.of_site()),
                ElementsAre("libibverbs.so.1 utility unversioned: the site's"));
    EXPECT_THAT(MergedCatalogue("amd", {}, site).of_driver(), IsEmpty());
}

TEST_F(SiteCatalogueTest, TakesFromAListOnlyWhatNoRuleSpeaksOf)
{
    root_.file("d/nvliblist.conf",
               "libcuda.so\nlibGL.so\nnvidia-smi\nlibz.so\n/usr/share/x.json\n");
    root_.file("d/z.yaml", rule("libz.so.1", "capability: utility\n    unversioned: true"));
    root_.file("d/other.conf", "this is read by nobody\n");

    const SiteCatalogue site = read(path("d"));
    const MergedCatalogue merged("nvidia", built_in, site);

    EXPECT_EQ(merged.of_driver().size(), built_in.size());
    EXPECT_THAT(texts(merged.of_site()), ElementsAre("libz.so.1 utility unversioned: the site's"));
    ASSERT_EQ(site.findings.size(), 1U);
    EXPECT_EQ(site.findings[0].evidence, "/usr/share/x.json");
}

TEST_F(SiteCatalogueTest, NamesFileAndLineOfAMistake)
{
    root_.file("d/bad.yaml", "vendor: nvidia\nfiles:\n  - library: libx.so\n    capability: x\n");
    const auto site = read_site_catalogue(path("d"), {}, lists);

    ASSERT_FALSE(site);
    EXPECT_EQ(site.error().code(), Errc::usage);
    EXPECT_EQ(site.error().message(),
              "catalogue: " + path("d/bad.yaml")
                  + ": line 4: unknown capability \"x\" (allowed: none, compute, utility, "
                    "graphics, video, display, ngx, firmware, compat32)");
    EXPECT_NE(site.error().hint(), "");
    EXPECT_EQ(read_site_catalogue("", {path("missing.yaml")}, lists).error().message(),
              "catalogue " + path("missing.yaml") + ": No such file or directory");
}

} // namespace
} // namespace gpucontainer::search
