// SPDX-License-Identifier: MIT
#include "drivers/fact_tables.hpp"

#include "base/file.hpp"
#include "base/format.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpucontainer::drivers {
namespace {

/// The parts of a file, one of which a test changes.
struct Parts {
    std::string releases =
        "  - {driver: 396.26, cuda: 9.2, least: 3.0}\n  - {driver: 410, cuda: 10.0}\n";
    std::string platform = "  - {release: 32.1, cuda: 10.0}\n";
    std::string chips = "  - {chip: GK107, devices: 0fc0-0fff, arch: 3.0}\n"
                        "  - {chip: GA10B, soc: \"nvidia,tegra234\", arch: 8.7}\n"
                        "  - {chip: GH100, devices: 2300-23ff, arch: 9.0}\n";
    std::string brands = "  - {model: Tesla, brands: [tesla, nvidia]}\n"
                         "  - {model: NVIDIA, brands: [nvidia]}\n";
    std::string numbers = "  - {number: 2, brand: tesla, compat: true}\n";
    std::string compat = "  - {compat: 550, drivers: [470, 525]}\n";
    std::string majors = "  - {cuda: 12, driver: 525.60.13}\n";
    std::string frameworks = "  - {package: torch, version: 2.0, cuda: 11.7}\n";

    std::string text() const
    {
        return base::format("vendor: nvidia\nreleases:\n{}platform_releases:\n{}chips:\n{}"
                            "brands:\n{}brand_numbers:\n{}compat_releases:\n{}"
                            "cuda_majors:\n{}frameworks:\n{}",
                            releases, platform, chips, brands, numbers, compat, majors, frameworks);
    }
};

std::string problem_with(const Parts& parts)
{
    const auto tables = parse_fact_tables(parts.text());
    return tables ? "" : tables.error().message();
}

std::string problem_with_release(const std::string& row)
{
    Parts parts;
    parts.releases += base::format("  - {{{}}}\n", row);
    return problem_with(parts);
}

std::string problem_with_chip(const std::string& row)
{
    Parts parts;
    parts.chips += base::format("  - {{{}}}\n", row);
    return problem_with(parts);
}

std::string problem_with_brand(const std::string& row)
{
    Parts parts;
    parts.brands += base::format("  - {{{}}}\n", row);
    return problem_with(parts);
}

TEST(FactTablesTest, HaveRowsAboutImages)
{
    const auto tables = parse_fact_tables(Parts().text());
    ASSERT_TRUE(tables) << tables.error().message();
    EXPECT_EQ(tables->cuda_majors.at(0).cuda, "12");
    EXPECT_EQ(tables->cuda_majors.at(0).driver, "525.60.13");
    EXPECT_EQ(tables->frameworks.at(0).package, "torch");
    EXPECT_EQ(tables->frameworks.at(0).version, "2.0");
    EXPECT_EQ(tables->frameworks.at(0).cuda, "11.7");

    const auto with_major = [](const std::string& row) {
        Parts parts;
        parts.majors += base::format("  - {{{}}}\n", row);
        return problem_with(parts);
    };
    EXPECT_EQ(with_major("cuda: 13, driver: 580.65.06"), "");
    EXPECT_NE(with_major("cuda: 12, driver: 580.65.06"), "");
    EXPECT_NE(with_major("cuda: 13.0, driver: 580.65.06"), "");
    EXPECT_NE(with_major("cuda: 13, driver: 500"), "");
    const auto with_framework = [](const std::string& row) {
        Parts parts;
        parts.frameworks += base::format("  - {{{}}}\n", row);
        return problem_with(parts);
    };
    EXPECT_EQ(with_framework("package: tensorflow, version: 1.0, cuda: 8.0"), "");
    EXPECT_NE(with_framework("package: torch, version: 2.0, cuda: 12.1"), "");
    EXPECT_NE(with_framework("package: 'to rch', version: 2.1, cuda: 12.1"), "");
    EXPECT_NE(with_framework("package: torch, version: x, cuda: 12.1"), "");
}

TEST(FactTablesTest, HaveRowsAboutForwardCompatibility)
{
    const auto tables = parse_fact_tables(Parts().text());
    ASSERT_TRUE(tables) << tables.error().message();
    EXPECT_EQ(tables->brand_numbers.at(0).number, 2U);
    EXPECT_EQ(tables->brand_numbers.at(0).brand, "tesla");
    EXPECT_TRUE(tables->brand_numbers.at(0).compat);
    EXPECT_EQ(tables->compat_releases.at(0).version, "550");
    EXPECT_EQ(tables->compat_releases.at(0).drivers.at(1), "525");

    const auto with_number = [](const std::string& row) {
        Parts parts;
        parts.numbers += base::format("  - {{{}}}\n", row);
        return problem_with(parts);
    };
    EXPECT_NE(with_number("number: 2, brand: nvs, compat: false"), "");
    EXPECT_NE(with_number("number: x, brand: nvs, compat: false"), "");
    EXPECT_NE(with_number("number: 3, brand: 'a b', compat: false"), "");
    EXPECT_NE(with_number("number: 3, brand: nvs"), "");
    EXPECT_EQ(with_number("number: 3, brand: nvs, compat: false"), "");
    const auto with_compat = [](const std::string& row) {
        Parts parts;
        parts.compat += base::format("  - {{{}}}\n", row);
        return problem_with(parts);
    };
    EXPECT_NE(with_compat("compat: 550, drivers: [535]"), "");
    EXPECT_NE(with_compat("compat: 580, drivers: [590]"), "");
    EXPECT_NE(with_compat("compat: 580, drivers: []"), "");
    EXPECT_EQ(with_compat("compat: 580, drivers: [535]"), "");
}

TEST(FactTablesTest, HaveWhatTheFileSays)
{
    const auto tables = parse_fact_tables(Parts().text());

    ASSERT_TRUE(tables) << tables.error().message();
    EXPECT_EQ(tables->vendor, "nvidia");
    ASSERT_EQ(tables->releases.size(), 2U);
    EXPECT_EQ(tables->releases[0].version, "396.26");
    EXPECT_EQ(tables->releases[0].cuda, "9.2");
    EXPECT_EQ(tables->releases[0].least, "3.0");
    EXPECT_EQ(tables->releases[1].least, "");
    ASSERT_EQ(tables->platform_releases.size(), 1U);
    EXPECT_EQ(tables->platform_releases[0].version, "32.1");
    ASSERT_EQ(tables->chips.size(), 3U);
    EXPECT_EQ(tables->chips[0].first, 0x0fc0);
    EXPECT_EQ(tables->chips[0].last, 0x0fff);
    EXPECT_EQ(tables->chips[1].first, 0);
    EXPECT_EQ(tables->chips[1].soc, "nvidia,tegra234");
    EXPECT_EQ(tables->chips[2].arch, "9.0");
    ASSERT_EQ(tables->brands.size(), 2U);
    EXPECT_EQ(tables->brands[0].brands, (std::vector<std::string>{"tesla", "nvidia"}));
}

TEST(FactTablesTest, HaveReleasesInAscendingOrder)
{
    EXPECT_EQ(problem_with_release("driver: 418, cuda: 10.0"), "");
    EXPECT_EQ(problem_with_release("driver: 410.0, cuda: 10.1"),
              "line 5: driver 410.0 is not in ascending order");
    EXPECT_EQ(problem_with_release("driver: 418, cuda: 9.2"),
              "line 5: driver 418 is not in ascending order");
    EXPECT_EQ(problem_with_release("driver: 418, cuda: 10.1, least: 3.0"),
              "line 5: driver 418 is not in ascending order");
    EXPECT_EQ(problem_with_release("driver: 418, cuda: 10.1, least: 3.5"), "");
}

TEST(FactTablesTest, HaveVersions)
{
    EXPECT_EQ(problem_with_release("driver: r418, cuda: 10.1"),
              "line 5: driver \"r418\" is not a version");
    EXPECT_EQ(problem_with_release("driver: 418, cuda: ten"),
              "line 5: cuda \"ten\" is not a version");
    EXPECT_EQ(problem_with_release("driver: 418"), "line 5: cuda is missing");
    EXPECT_EQ(problem_with_release("driver: 418, cuda: 10.1, arch: 3.0"),
              "line 5: unknown key \"arch\" (allowed: driver, cuda, least)");
}

TEST(FactTablesTest, GiveADeviceOneChip)
{
    EXPECT_EQ(problem_with_chip("chip: GA103, devices: 2400-247f, arch: 8.6"), "");
    EXPECT_EQ(problem_with_chip("chip: GH200, devices: 23ff-2400, arch: 9.0"),
              "line 11: devices of GH200 are not behind those of GH100");
    for (const char* const devices :
         {"2400", "2400-23ff", "24-25", "2400:247f", "240-2410", "0000-0001"})
        EXPECT_EQ(problem_with_chip(base::format("chip: X, devices: \"{}\", arch: 8.6", devices)),
                  base::format("line 11: devices \"{}\" is not of the form 2300-23ff", devices));
    EXPECT_EQ(problem_with_chip("chip: X, arch: 8.6"), "line 11: a chip has either devices or soc");
    EXPECT_EQ(problem_with_chip("chip: X, devices: 2400-247f, soc: x, arch: 8.6"),
              "line 11: a chip has either devices or soc");
}

TEST(FactTablesTest, HideNoRowOfBrands)
{
    EXPECT_EQ(problem_with_brand("model: Quadro, brands: [quadro]"), "");
    EXPECT_EQ(problem_with_brand("model: Tesla T4, brands: [nvidia]"),
              "line 14: model Tesla T4 is hidden by Tesla");
    EXPECT_EQ(problem_with_brand("model: Quadro, brands: []"), "line 14: brands is not a list");
    EXPECT_EQ(problem_with_brand("model: Quadro, brands: [Quadro RTX]"),
              "line 14: brand \"Quadro RTX\" is not a word");
}

TEST(FactTablesTest, HaveEachSection)
{
    EXPECT_EQ(problem_with({"", "", "", ""}), "line 2: releases is not a list");
    EXPECT_FALSE(parse_fact_tables(""));
    EXPECT_FALSE(parse_fact_tables("vendor: nvidia\n"));
}

} // namespace
} // namespace gpucontainer::drivers
