// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <benchmark/benchmark.h>
#include <vector>

/// Makes each repetition of a benchmark one call, so that --benchmark_repetitions=N
/// gives min, median and p90 of N calls.
inline void count_single_calls(benchmark::internal::Benchmark* one)
{
    const auto least = [](const std::vector<double>& values) {
        return *std::ranges::min_element(values);
    };
    const auto p90 = [](const std::vector<double>& values) {
        std::vector<double> sorted = values;
        std::ranges::sort(sorted);
        return sorted[sorted.size() * 9 / 10];
    };
    one->Iterations(1)
        ->Unit(benchmark::kMicrosecond)
        ->ComputeStatistics("min", least)
        ->ComputeStatistics("p90", p90);
}
