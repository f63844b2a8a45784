// SPDX-License-Identifier: MIT
#include "drivers/nvidia/gpu_code.hpp"

#include "unit/drivers/gpu_code_image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace gpucontainer::drivers::nvidia {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t plenty = 1000;

GpuCode code_of(const std::string& file, std::span<const unsigned> wanted = {},
                std::size_t budget = plenty)
{
    const auto fd = test::memory_file(file);
    return read_gpu_code(fd.get(), wanted, budget);
}

GpuCode code_in(const std::string& containers)
{
    return code_of(test::library_with_code(containers));
}

TEST(GpuCodeTest, IsOfTwoKinds)
{
    const GpuCode code = code_in(test::code_for({80, 90}, {90}));
    EXPECT_THAT(code.machine, ElementsAre(80, 90));
    EXPECT_THAT(code.translated, ElementsAre(90));
    EXPECT_TRUE(code.complete);
}

TEST(GpuCodeTest, IsInContainersOneBehindTheOther)
{
    // The second begins at an address of 64, as some linkers have it; the last has nothing.
    std::string all = test::code_for({80});
    all.resize((all.size() + 63) / 64 * 64);
    all += test::code_for({86}, {86}) + test::code_container("") + std::string(8, '\0');
    const GpuCode code = code_in(all);
    EXPECT_THAT(code.machine, ElementsAre(80, 86));
    EXPECT_THAT(code.translated, ElementsAre(86));
    EXPECT_TRUE(code.complete);
}

TEST(GpuCodeTest, HasLongerHeadersForNewerArchitectures)
{
    // 112 bytes of CUDA 13, and 72 bytes with a file's name behind the usual ones.
    const GpuCode code = code_in(test::code_container(
        test::code_entry(test::machine_code, 100, 4000, 112)
        + test::code_entry(test::machine_code, 37, 0xc0, 0x48) + test::code_entry(16, 120)));
    EXPECT_THAT(code.machine, ElementsAre(37, 100, 120));
    EXPECT_TRUE(code.complete);
}

/// What nvcc of CUDA 9 wrote for an empty file: the first words of its container.
TEST(GpuCodeTest, OfARealFile)
{
    constexpr std::array<std::uint64_t, 13> words = {
        0x00100001ba55ed50, 0x0000000000000108, 0x0000004801010002, 0x00000000000000c0,
        0x00000000000000be, 0x0000002500010007, 0x0000000700000040, 0x0000000000002013,
        0x0000000000000000, 0x0000000000000268, 0x00206f2e6e69616d, 0x010102464c457fa2,
        0x0002660001000733};
    std::string bytes(16 + 0x108, '\0');
    std::memcpy(bytes.data(), words.data(), sizeof words);
    const GpuCode code = code_in(bytes);
    EXPECT_THAT(code.machine, ElementsAre(37));
    EXPECT_TRUE(code.complete);
}

TEST(GpuCodeTest, IsInOneOfTwoSections)
{
    EXPECT_THAT(code_of(test::library_with("__nv_relfatbin", test::code_for({70}))).machine,
                ElementsAre(70));
    EXPECT_TRUE(code_of(test::library_with(".nv_fatbi", test::code_for({70}))).empty());
    EXPECT_TRUE(code_of("no ELF file").empty());
}

TEST(GpuCodeTest, IsReadUntilItIsEnough)
{
    constexpr std::array<unsigned, 1> wanted = {86};
    std::size_t budget = plenty;
    const auto fd = test::memory_file(test::library_with_code(test::code_for({80, 90, 100})));
    const GpuCode code = read_gpu_code(fd.get(), wanted, budget);
    EXPECT_THAT(code.machine, ElementsAre(80));
    EXPECT_EQ(budget, plenty - 2);
    EXPECT_EQ(fit_of(code, 86), Fit::direct);
}

TEST(GpuCodeTest, IsReadWithinABudget)
{
    const std::string file = test::library_with_code(test::code_for({50, 60, 70, 80}));
    const GpuCode part = code_of(file, {}, 3);
    EXPECT_THAT(part.machine, ElementsAre(50, 60));
    EXPECT_TRUE(part.cut_off);
    EXPECT_EQ(part.entries, 2U);
    EXPECT_EQ(fit_of(part, 80), Fit::unknown);
    EXPECT_EQ(fit_of(part, 61), Fit::direct);
    EXPECT_TRUE(code_of(file, {}, 0).empty());
    // Containers without entries count too.
    std::string empty;
    for (int i = 0; i < 100; ++i)
        empty += test::code_container("");
    EXPECT_TRUE(code_of(test::library_with_code(empty + test::code_for({80})), {}, 50).cut_off);
}

TEST(GpuCodeTest, IsUnlikelyIfAGoodPartLacksIt)
{
    std::string all;
    for (int i = 0; i < 100; ++i)
        all += test::code_for({80, 90});
    const GpuCode code = code_of(test::library_with_code(all), {}, 100);
    EXPECT_TRUE(code.cut_off);
    EXPECT_EQ(fit_of(code, 120), Fit::unlikely);
    EXPECT_EQ(fit_of(code, 90), Fit::direct);
    EXPECT_EQ(fit_of(code_in(all), 120), Fit::none);
}

TEST(GpuCodeTest, EndsWhereItIsDamaged)
{
    const auto damaged = [](std::size_t offset, std::uint64_t value) {
        std::string second = test::code_container(test::code_entry(test::machine_code, 90)
                                                  + test::code_entry(test::machine_code, 100));
        test::put(second, offset, value);
        return code_in(test::code_for({80}) + second);
    };
    for (const std::uint64_t size : {~std::uint64_t(0), std::uint64_t(1) << 40U}) {
        const GpuCode container = damaged(8, size); // its size
        EXPECT_THAT(container.machine, ElementsAre(80)) << size;
        EXPECT_FALSE(container.complete) << size;
        const GpuCode entry = damaged(16 + 8, size); // the first entry's size
        EXPECT_THAT(entry.machine, ElementsAre(80)) << size;
        EXPECT_FALSE(entry.complete) << size;
    }
    for (const std::uint32_t header : {0U, 63U, 0x10000U, ~0U}) {
        const GpuCode code = damaged(16, std::uint64_t(header) << 32U | 2U);
        EXPECT_THAT(code.machine, ElementsAre(80)) << header;
        EXPECT_FALSE(code.complete) << header;
    }
    const GpuCode other = code_in(test::code_for({80}) + std::string(8192, 'x'));
    EXPECT_THAT(other.machine, ElementsAre(80));
    EXPECT_FALSE(other.complete);
}

TEST(GpuCodeTest, OfAnUnknownKindMakesTheRestUnknown)
{
    const GpuCode code = code_in(
        test::code_container(test::code_entry(test::machine_code, 80) + test::code_entry(64, 90)));
    EXPECT_EQ(fit_of(code, 80), Fit::direct);
    EXPECT_EQ(fit_of(code, 90), Fit::unknown);
    EXPECT_FALSE(code_in(test::code_container(test::code_entry(test::machine_code, 0))).complete);
}

TEST(GpuCodeTest, RunsOnLaterGpusOfTheSameMajorNumber)
{
    const GpuCode code = code_in(test::code_for({80, 90}));
    EXPECT_EQ(fit_of(code, 80), Fit::direct);
    EXPECT_EQ(fit_of(code, 89), Fit::direct);
    EXPECT_EQ(fit_of(code, 75), Fit::none);
    EXPECT_EQ(fit_of(code, 100), Fit::none);
    const GpuCode only_later = code_in(test::code_for({86}));
    EXPECT_EQ(fit_of(only_later, 80), Fit::none);
    EXPECT_EQ(fit_of(GpuCode(), 80), Fit::unknown);
    // Thor had another number before CUDA 13.
    EXPECT_EQ(fit_of(code_in(test::code_for({101})), 110), Fit::direct);
}

TEST(GpuCodeTest, IsTranslatedForAllLaterGpus)
{
    const GpuCode code = code_in(test::code_for({80}, {70}));
    EXPECT_EQ(fit_of(code, 120), Fit::translated);
    EXPECT_EQ(fit_of(code, 75), Fit::translated);
    EXPECT_EQ(fit_of(code, 61), Fit::none);
    EXPECT_EQ(fit_of(code, 86), Fit::direct);
}

TEST(GpuCodeTest, ArchitecturesAreNumbers)
{
    EXPECT_EQ(architecture_number("9.0"), 90U);
    EXPECT_EQ(architecture_number("12.1"), 121U);
    for (const char* none : {"", "9", "9.", ".0", "9.10", "x.y", "1000.0", "9.0.1"})
        EXPECT_EQ(architecture_number(none), 0U) << none;
}

} // namespace
} // namespace gpucontainer::drivers::nvidia
