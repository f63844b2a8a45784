// SPDX-License-Identifier: MIT
#include "unit/layouts/layout_fixture.hpp"

namespace gpucontainer {
namespace {

struct Link {
    const char* path;
    const char* target;
};

/// Where one distribution's packages put the driver.
struct Distribution {
    const char* name;
    std::string libraries;
    std::string cached_as; ///< What the loader calls that directory.
    std::string libraries_32_bit;
    std::vector<Link> links;
};

const std::vector<Distribution>& distributions()
{
    static const std::vector<Distribution> all = {
        {"Fedora", "usr/lib64", "/lib64", "usr/lib", {{"lib64", "usr/lib64"}, {"lib", "usr/lib"}}},
        {"Ubuntu",
         test::multiarch,
         test::multiarch.substr(3),
         test::multiarch32,
         {{"lib64", "usr/lib64"}, {"lib", "usr/lib"}}},
        {"Arch",
         "usr/lib",
         "/usr/lib",
         "usr/lib32",
         {{"lib64", "usr/lib"}, {"lib", "usr/lib"}, {"usr/lib64", "lib"}}},
        {"Suse", "usr/lib64", "/usr/lib64", "usr/lib", {}}, // Leap has a /lib64 of its own
    };
    return all;
}

class DistributionTest : public LayoutTest, public ::testing::WithParamInterface<Distribution> {
protected:
    DistributionTest()
    {
        const Distribution& here = GetParam();
        for (const Link& link : here.links)
            tree_.link(link.path, link.target);
        tree_.file("etc/ld.so.conf", "include ld.so.conf.d/*.conf\n");
        tree_.file("etc/ld.so.conf.d/here.conf", here.cached_as + "\n");
        install_32_bit(here.libraries_32_bit);
        install_libraries(here.libraries);
        link_libraries(here.libraries);
        remember_libraries(here.cached_as);
        tree_.tool("usr/bin/nvidia-smi");
    }

    static std::string library_32_bit()
    {
        return base::format("ROOT/{}/libcuda.so.{}", GetParam().libraries_32_bit, version);
    }

    static std::string libraries() { return "/" + GetParam().libraries; }
};

TEST_P(DistributionTest, HasItsDriverFoundByTheLoaderCache)
{
    const auto driver = detected();

    expect_driver(driver, libraries());
    EXPECT_THAT(compat32_paths(driver), ::testing::ElementsAre(library_32_bit()));
    EXPECT_THAT(skipped(driver, "libcuda.so.1"), ::testing::IsEmpty());
}

TEST_P(DistributionTest, HasItsDriverFoundWithoutALoaderCache)
{
    tree_.forget();

    const auto driver = detected();

    expect_driver(driver, libraries());
    EXPECT_THAT(compat32_paths(driver), ::testing::ElementsAre(library_32_bit()));
}

std::string name_of(const testing::TestParamInfo<Distribution>& distribution)
{
    return distribution.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, DistributionTest, testing::ValuesIn(distributions()), name_of);

} // namespace
} // namespace gpucontainer
