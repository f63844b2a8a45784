// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "search/site_files.hpp"

#include "unit/drivers/driver_tree.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gpucontainer::search {

using model::Capability;
using model::CatalogueRule;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* libraries = "usr/lib64";

CatalogueRule library(std::string_view name, Capability capability = Capability::compute,
                      bool entry = false)
{
    return {
        model::FileKind::library, capability, Capability::none, name, entry, true, "the site's"};
}

CatalogueRule tool(std::string_view name)
{
    return {
        model::FileKind::tool, Capability::utility, Capability::none, name, false, false, "a tool"};
}

/// A driver in a tree of its own, and other things beside it.
class SiteFilesTest : public ::testing::Test {
protected:
    SiteFilesTest()
    {
        driver_.version = "580.1";
        driver_.library_directory = tree_.prefix() + "/opt/driver/lib";
        model::DriverFile cuda;
        cuda.name = "libcuda.so.580.1";
        cuda.soname = "libcuda.so.1";
        driver_.files = {cuda};
    }

    /// A library under its full name, and a link of its soname to it.
    void install(const std::string& name, const std::string& soname)
    {
        tree_.library(base::format("{}/{}", libraries, name), soname);
        if (name != soname)
            tree_.link(base::format("{}/{}", libraries, soname), name);
    }

    void search(const std::vector<CatalogueRule>& rules)
    {
        const auto root = tree_.open_driver();
        const auto is_driver_version = [](std::string_view text) { return text.starts_with("5"); };
        add_site_files(root, rules, is_driver_version, driver_);
    }

    /// "NAME links entries: PATH" of all but the driver's own.
    std::vector<std::string> found() const
    {
        std::vector<std::string> all;
        for (const model::DriverFile& file : driver_.files)
            if (file.soname != "libcuda.so.1")
                all.push_back(base::format("{} {} {}: {} {}", file.name, fmt::join(file.links, ","),
                                           fmt::join(file.entry_names, ","), name(file.capability),
                                           file.path.substr(tree_.prefix().size())));
        return all;
    }

    std::vector<std::string> skipped() const
    {
        std::vector<std::string> all;
        for (const model::Finding& one : driver_.findings)
            all.push_back(base::format("{}: {}", one.object, one.text));
        return all;
    }

    test::DriverTree tree_;
    model::DriverStack driver_;
};

TEST_F(SiteFilesTest, AreFoundByTheLoaderCache)
{
    tree_.library("opt/fabric/libibverbs.so.1.14", "libibverbs.so.1");
    tree_.remember("libibverbs.so.1", "/opt/fabric/libibverbs.so.1.14");

    search({library("libibverbs.so.1", Capability::utility, true)});

    EXPECT_THAT(found(), ElementsAre("libibverbs.so.1.14 libibverbs.so.1 libibverbs.so.1: utility "
                                     "/opt/fabric/libibverbs.so.1.14"));
    EXPECT_EQ(driver_.files.back().reason, "the site's");
    EXPECT_THAT(skipped(), IsEmpty());
}

TEST_F(SiteFilesTest, AreFoundInTheLoadersDirectoriesWithoutACache)
{
    tree_.file("etc/ld.so.conf", "/opt/fabric\n");
    tree_.library("opt/fabric/libmlx5.so.1", "libmlx5.so.1");
    install("libibverbs.so.1.14", "libibverbs.so.1");

    search({library("libibverbs.so.1"), library("libmlx5.so.1")});

    EXPECT_THAT(found(), ElementsAre("libibverbs.so.1.14 libibverbs.so.1 : compute "
                                     "/usr/lib64/libibverbs.so.1.14",
                                     "libmlx5.so.1  : compute /opt/fabric/libmlx5.so.1"));
}

TEST_F(SiteFilesTest, HaveAnyVersionWhenTheNameHasNone)
{
    install("libx.so.1.0", "libx.so.1");
    install("libx.so.2.0", "libx.so.2");
    install("libxy.so.1", "libxy.so.1");
    tree_.link(base::format("{}/libx.so", libraries), "libx.so.2.0");

    search({library("libx.so")});

    EXPECT_THAT(found(), ElementsAre("libx.so.1.0 libx.so.1 : compute /usr/lib64/libx.so.1.0",
                                     "libx.so.2.0 libx.so.2 : compute /usr/lib64/libx.so.2.0"));
}

TEST_F(SiteFilesTest, AreLookedForBesideTheDriverAndInTheUsualPlaces)
{
    tree_.tool("opt/driver/bin/vendor-top");
    tree_.tool("usr/bin/vendor-top");
    tree_.tool("usr/sbin/ibstat");
    tree_.file("usr/bin/script", "#!/bin/sh\n");

    search({tool("vendor-top"), tool("ibstat"), tool("script")});

    EXPECT_THAT(found(), ElementsAre("ibstat  ibstat: utility /usr/sbin/ibstat",
                                     "vendor-top  vendor-top: utility /opt/driver/bin/vendor-top"));
    EXPECT_THAT(skipped(), ElementsAre("script: is not an ELF program"));
}

TEST_F(SiteFilesTest, AreNotWantedTwiceOrForNothing)
{
    install("libcuda.so.1", "libcuda.so.1");
    install("libz.so.1", "libz.so.1");

    search({library("libcuda.so"), library("libz.so.1", Capability::none)});

    EXPECT_THAT(found(), IsEmpty());
    EXPECT_THAT(skipped(), IsEmpty());
}

TEST_F(SiteFilesTest, SayWhyTheyAreNotTaken)
{
    tree_.of_this_machine();
    tree_.library("usr/lib64/libforeign.so.1", "libforeign.so.1", test::foreign_machine);
    tree_.library("usr/lib64/libother.so.1", "libsomething.so.1");
    tree_.file("usr/lib64/libtext.so.1", "INPUT(libc.so.6)\n");
    install("libold.so.570.1", "libold.so.1");

    search({library("libforeign.so.1"), library("libmissing.so.1"), library("libold.so.1"),
            library("libother.so.1"), library("libtext.so.1")});

    EXPECT_THAT(found(), IsEmpty());
    ASSERT_EQ(skipped().size(), 5U);
    EXPECT_THAT(skipped()[0], ::testing::StartsWith("libforeign.so.1: is for "));
    EXPECT_EQ(skipped()[1], "libmissing.so.1: not found; a rule of this site names it");
    EXPECT_EQ(skipped()[2], "libold.so.1: is version 570.1; the driver is version 580.1");
    EXPECT_EQ(skipped()[3], "libother.so.1: has the soname libsomething.so.1");
    EXPECT_THAT(skipped()[4], ::testing::StartsWith("libtext.so.1: "));
}

} // namespace
} // namespace gpucontainer::search
