// SPDX-License-Identifier: MIT
#include "base/file_time.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace gpucontainer::base {
namespace {

TEST(FileTimeTest, IsTheSameThereAndBack)
{
    for (const std::int64_t time : {0L, 1L, -1L, 1'700'000'000'123'456'789L, -1'000'000'000L,
                                    -1'500'000'000L, INT64_MAX, INT64_MIN}) {
        const timespec there = to_timespec(time);
        EXPECT_EQ(to_nanoseconds(there), time);
        EXPECT_GE(there.tv_nsec, 0) << time;
        EXPECT_LT(there.tv_nsec, nanoseconds_per_second) << time;
    }
}

TEST(FileTimeTest, OfAnyYearIsANumber)
{
    // As a file on a tmpfs may have it; with sanitizers an overflow is an end.
    EXPECT_NE(to_nanoseconds(INT64_MAX, 0), to_nanoseconds(INT64_MIN, 0));
}

} // namespace
} // namespace gpucontainer::base
