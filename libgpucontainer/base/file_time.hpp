// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>

namespace gpucontainer::base {

inline constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

/// Time of a file as one number, in nanoseconds. The owner of the file can set any time: those
/// outside the years 1678 to 2261 wrap around.
constexpr std::int64_t to_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) noexcept
{
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(seconds) * nanoseconds_per_second
                                     + static_cast<std::uint64_t>(nanoseconds));
}

constexpr std::int64_t to_nanoseconds(const timespec& time) noexcept
{
    return to_nanoseconds(time.tv_sec, time.tv_nsec);
}

/// The inverse. Before 1970 too, nanoseconds count forward.
constexpr timespec to_timespec(std::int64_t time) noexcept
{
    const std::int64_t rest = time % nanoseconds_per_second;
    const bool before_1970 = rest < 0;
    return {time / nanoseconds_per_second - (before_1970 ? 1 : 0),
            rest + (before_1970 ? nanoseconds_per_second : 0)};
}

} // namespace gpucontainer::base
