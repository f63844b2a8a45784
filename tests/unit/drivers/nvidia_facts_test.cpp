// SPDX-License-Identifier: MIT
#include "drivers/nvidia/facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace gpucontainer::drivers::nvidia {
namespace {

using requirement::Fact;
using requirement::Subject;

model::DriverStack driver(std::string version)
{
    model::DriverStack stack;
    stack.version = std::move(version);
    return stack;
}

model::Gpu gpu(std::string model, std::string architecture)
{
    model::Gpu one;
    one.model = std::move(model);
    one.architecture = std::move(architecture);
    one.minor = 0;
    return one;
}

Fact fact(const Subject& subject, std::string_view name)
{
    const auto found = std::ranges::find(subject.facts, name, &Fact::name);
    EXPECT_NE(found, subject.facts.end()) << name;
    return found == subject.facts.end() ? Fact() : *found;
}

/// "13.0", "13.0 or later", "tesla nvidia" or "-".
std::string text(const Fact& fact)
{
    std::string all;
    for (const std::string& value : fact.values)
        all += (all.empty() ? "" : " ") + value;
    return (all.empty() ? "-" : all) + (fact.or_later ? " or later" : "");
}

std::string cuda_of(const std::string& version)
{
    return text(fact(facts_of(driver(version), nullptr), "cuda"));
}

std::string brands_of(const std::string& model)
{
    const model::Gpu one = gpu(model, "");
    return text(fact(facts_of(driver("580.1"), &one), "brand"));
}

TEST(NvidiaArchitecture, IsThatOfTheChipsDevices)
{
    EXPECT_EQ(architecture_of_device(0x2335), "9.0");  // H200
    EXPECT_EQ(architecture_of_device(0x1eb8), "7.5");  // Tesla T4
    EXPECT_EQ(architecture_of_device(0x20b2), "8.0");  // A100
    EXPECT_EQ(architecture_of_device(0x2204), "8.6");  // GeForce RTX 3090
    EXPECT_EQ(architecture_of_device(0x26b9), "8.9");  // L40S
    EXPECT_EQ(architecture_of_device(0x1db5), "7.0");  // Tesla V100
    EXPECT_EQ(architecture_of_device(0x1b80), "6.1");  // GeForce GTX 1080
    EXPECT_EQ(architecture_of_device(0x15f8), "6.0");  // Tesla P100
    EXPECT_EQ(architecture_of_device(0x13f2), "5.2");  // Tesla M60
    EXPECT_EQ(architecture_of_device(0x102d), "3.7");  // Tesla K80
    EXPECT_EQ(architecture_of_device(0x2901), "10.0"); // B200
    EXPECT_EQ(architecture_of_device(0x3182), "10.3"); // B300
    EXPECT_EQ(architecture_of_device(0x2b85), "12.0"); // GeForce RTX 5090
    EXPECT_EQ(architecture_of_device(0x2e12), "12.1"); // GB10
    EXPECT_EQ(architecture_of_device(0), "");
    EXPECT_EQ(architecture_of_device(0x0040), "");
    EXPECT_EQ(architecture_of_device(0xfffe), "");
}

TEST(NvidiaArchitecture, IsThatOfATegrasChip)
{
    EXPECT_EQ(architecture_of_soc("nvidia,tegra234"), "8.7");
    EXPECT_EQ(architecture_of_soc("nvidia,tegra264"), "11.0");
    EXPECT_EQ(architecture_of_soc("nvidia,tegra20"), "");
    EXPECT_EQ(architecture_of_soc(""), "");
}

TEST(NvidiaFacts, HaveTheCudaOfTheDriversBranch)
{
    EXPECT_EQ(cuda_of("580.159.04"), "13.0");
    EXPECT_EQ(cuda_of("470.256.02"), "11.4");
    EXPECT_EQ(cuda_of("550.40.07"), "12.4");
    EXPECT_EQ(cuda_of("435.21"), "10.1");
    EXPECT_EQ(cuda_of("346.46"), "7.0");
}

TEST(NvidiaFacts, ABranchBehindTheLastOneHasAtLeastItsCuda)
{
    const Release& last = releases().back();
    const std::string cuda(last.cuda);
    EXPECT_EQ(cuda_of(std::string(last.version) + ".99.01"), cuda);
    EXPECT_EQ(cuda_of("999.1"), cuda + " or later");
    EXPECT_EQ(fact(facts_of(driver("999.1"), nullptr), "cuda").sentence,
              "driver 999.1 supports CUDA " + cuda + " or later");
}

TEST(NvidiaFacts, DoNotGuessFromOtherVersions)
{
    EXPECT_EQ(cuda_of("340.108"), "-");
    for (const char* const version :
         {"5.15.153.1-microsoft-standard-WSL2", "5.10.120-tegra", "0", ""}) {
        EXPECT_EQ(cuda_of(version), "-");
        EXPECT_EQ(text(fact(facts_of(driver(version), nullptr), "driver")), "-");
    }
}

TEST(NvidiaFacts, HaveTheCudaOfLinuxForTegra)
{
    EXPECT_EQ(cuda_of("35.4.1"), "11.4");
    EXPECT_EQ(cuda_of("36.4.3"), "12.6");
    EXPECT_EQ(cuda_of("32.3.1"), "10.0");
    EXPECT_EQ(cuda_of("99.1"), std::string(platform_releases().back().cuda) + " or later");
    EXPECT_EQ(text(fact(facts_of(driver("35.4.1"), nullptr), "driver")), "-");
    EXPECT_EQ(fact(facts_of(driver("35.4.1"), nullptr), "cuda").sentence,
              "Linux for Tegra 35.4.1 supports CUDA 11.4");
}

TEST(NvidiaFacts, HaveTheBrandsOfTheModel)
{
    EXPECT_EQ(brands_of("NVIDIA H200"), "nvidia");
    EXPECT_EQ(brands_of("Tesla T4"), "tesla nvidia");
    EXPECT_EQ(brands_of("A100-SXM4-40GB"), "tesla nvidia");
    EXPECT_EQ(brands_of("NVIDIA GeForce RTX 3090"), "geforce geforcertx");
    EXPECT_EQ(brands_of("GeForce GTX 1080"), "geforce");
    EXPECT_EQ(brands_of("NVIDIA RTX A6000"), "quadrortx nvidiartx");
    EXPECT_EQ(brands_of("NVIDIA TITAN RTX"), "titan titanrtx");
    EXPECT_EQ(brands_of("Quadro P4000"), "quadro");
    EXPECT_EQ(brands_of("Engineering Sample"), "unknown");
}

TEST(NvidiaFacts, DoNotHaveTheBrandWithoutTheDriver)
{
    model::Gpu undriven = gpu("NVIDIA device 2335", "9.0");
    undriven.minor = -1;
    EXPECT_EQ(text(fact(facts_of(driver("580.1"), &undriven), "brand")), "-");
}

TEST(NvidiaFacts, OfAnUnknownChipIsItsDriversLeast)
{
    model::Gpu unknown = gpu("NVIDIA Z1", "");

    const Fact known_least = fact(facts_of(driver("590.44.01"), &unknown), "arch");
    EXPECT_EQ(text(known_least), "7.5 or later");
    EXPECT_EQ(known_least.sentence,
              "the compute capability of GPU 0 (NVIDIA Z1) is not known; with "
              "this driver it is 7.5 or later");
    EXPECT_EQ(text(fact(facts_of(driver("390.157"), &unknown), "arch")), "-");
    unknown.minor = -1; // a driver does not list what it does not support
    EXPECT_EQ(text(fact(facts_of(driver("590.44.01"), &unknown), "arch")), "-");
}

TEST(NvidiaFacts, SayWhatTheDriverNoLongerSupports)
{
    const model::Gpu pascal = gpu("NVIDIA GeForce GTX 1080", "6.1");
    const model::Gpu turing = gpu("Tesla T4", "7.5");

    for (const char* const version : {"590.44.01", "595.71.05", "999.1"}) {
        const Subject dropped = facts_of(driver(version), &pascal);
        EXPECT_EQ(dropped.obstacle,
                  std::string("driver ") + version
                      + " does not support GPU 0 (NVIDIA GeForce GTX 1080), which has compute "
                        "capability 6.1; it needs 7.5 or more");
        EXPECT_EQ(dropped.hint, "use a driver before 590");
        EXPECT_EQ(facts_of(driver(version), &turing).obstacle, "");
    }
    EXPECT_EQ(facts_of(driver("580.178"), &pascal).obstacle, "");
    EXPECT_EQ(facts_of(driver("495.29.05"), &pascal).obstacle, "");
}

TEST(NvidiaFacts, WithoutAGpuAreThoseOfTheDriver)
{
    const Subject alone = facts_of(driver("580.1"), nullptr);

    ASSERT_EQ(alone.facts.size(), 2U);
    EXPECT_TRUE(std::ranges::none_of(alone.facts, &Fact::of_gpu));
    EXPECT_EQ(text(fact(alone, "driver")), "580.1");
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
