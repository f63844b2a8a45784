// SPDX-License-Identifier: MIT
#include "linking/processor.hpp"

#include <array>
#include <string_view>
#include <sys/auxv.h>

namespace gpucontainer::linking {

#if defined(__x86_64__)

// The levels of the processor's ABI supplement, by what a compiler can ask about. It cannot ask
// about all that a level has, such as CMPXCHG16B. No processor has the rest without that.
std::vector<std::string> processor_levels()
{
    const auto all = [](auto... has) { return (static_cast<bool>(has) && ...); };
    const bool second = all(__builtin_cpu_supports("sse3"), __builtin_cpu_supports("ssse3"),
                            __builtin_cpu_supports("sse4.1"), __builtin_cpu_supports("sse4.2"),
                            __builtin_cpu_supports("popcnt"));
    const bool third = second
                       && all(__builtin_cpu_supports("avx"), __builtin_cpu_supports("avx2"),
                              __builtin_cpu_supports("bmi"), __builtin_cpu_supports("bmi2"),
                              __builtin_cpu_supports("fma"));
    const bool fourth =
        third
        && all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
               __builtin_cpu_supports("avx512cd"), __builtin_cpu_supports("avx512dq"),
               __builtin_cpu_supports("avx512vl"));
    std::vector<std::string> levels;
    if (fourth)
        levels.emplace_back("x86-64-v4");
    if (third)
        levels.emplace_back("x86-64-v3");
    if (second)
        levels.emplace_back("x86-64-v2");
    return levels;
}

#else

std::vector<std::string> processor_levels()
{
    constexpr std::array<std::string_view, 2> named = {"power10", "power9"};
    const auto* const platform =
        reinterpret_cast<const char*>(::getauxval(AT_PLATFORM)); // NOLINT: the kernel's own text
    std::vector<std::string> levels;
    bool is_reached = false;
    for (const std::string_view level : named) {
        is_reached = is_reached || (platform != nullptr && platform == level);
        if (is_reached)
            levels.emplace_back(level);
    }
    return levels;
}

#endif

} // namespace gpucontainer::linking
