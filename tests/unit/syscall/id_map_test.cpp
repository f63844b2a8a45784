// SPDX-License-Identifier: MIT
#include "syscall/id_map.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

namespace gpucontainer::syscall {
namespace {

constexpr const char* initial = "         0          0 4294967295\n";

std::uint32_t outside_of(const char* map, std::uint32_t inside)
{
    const auto range = find_range(map, inside);
    return range ? range->outside : UINT32_MAX;
}

TEST(IdMap, FindsTheLineThatHasAnId)
{
    const char* const map = "         0       1000          1\n         1     100000      65536\n";

    EXPECT_EQ(outside_of(map, 0), 1000U);
    EXPECT_EQ(outside_of(map, 1), 100000U);
    EXPECT_EQ(outside_of(map, 65536), 100000U);
    EXPECT_FALSE(find_range(map, 65537));
    EXPECT_FALSE(find_range("1000 1000 1\n", 0));
    EXPECT_TRUE(find_range("1000 1000 1\n", 1000));
    EXPECT_TRUE(find_range(initial, UINT32_MAX - 1));
    EXPECT_FALSE(find_range(initial, UINT32_MAX));
}

TEST(IdMap, PassesOverWhatIsNoLineOfTheKernels)
{
    for (const char* const map : {"", "\n", "0 0", "0 0 1 1", "0 0 1x", "-0 0 1", "0 0 4294967296",
                                  "0 0 99999999999999999999", "a 0 1"})
        EXPECT_FALSE(find_range(map, 0)) << map;
    EXPECT_EQ(outside_of("0 0\n0 7 1", 0), 7U);
}

TEST(IdMap, TheInitialOneHasAllIdsAsThemselves)
{
    EXPECT_TRUE(is_initial_map(initial));
    EXPECT_FALSE(is_initial_map(""));
    EXPECT_FALSE(is_initial_map("0 0 1\n"));
    EXPECT_FALSE(is_initial_map("0 0 4294967294\n"));
    EXPECT_FALSE(is_initial_map("0 1000 4294967295\n"));
}

TEST(IdMap, OfThisProcessIsReadFromTheKernel)
{
    std::ifstream file("/proc/self/uid_map");
    const std::string map(std::istreambuf_iterator<char>(file), {});

    EXPECT_EQ(is_in_initial_user_namespace(), map == initial);
}

} // namespace
} // namespace gpucontainer::syscall
