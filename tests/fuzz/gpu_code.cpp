// SPDX-License-Identifier: MIT
#include "drivers/nvidia/gpu_code.hpp"

#include "fuzz/fuzz.hpp"
#include "fuzz/memory_file.hpp"
#include "unit/drivers/gpu_code_image.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace gpucontainer::fuzz {
namespace {

using drivers::nvidia::Fit;
using drivers::nvidia::fit_of;
using drivers::nvidia::GpuCode;

constexpr std::size_t most_entries = 200;
constexpr std::array<unsigned, 3> architectures = {61, 90, 120};

GpuCode read(std::string_view file, std::span<const unsigned> wanted)
{
    const auto fd = memory_file(file);
    std::size_t budget = most_entries;
    GpuCode code = drivers::nvidia::read_gpu_code(fd.get(), wanted, budget);
    demand(budget <= most_entries, "no more is taken from a budget than there is");
    demand(code.machine.size() + code.translated.size() <= most_entries - budget,
           "what is found was read");
    return code;
}

void try_file(std::string_view file)
{
    const GpuCode all = read(file, {});
    const GpuCode enough = read(file, architectures);
    demand(std::ranges::includes(all.machine, enough.machine)
               && std::ranges::includes(all.translated, enough.translated),
           "a shorter look finds nothing else");
    demand(std::ranges::none_of(all.machine, [](unsigned one) { return one == 0 || one > 999; }),
           "architectures have three digits");
    for (const unsigned architecture : architectures) {
        const Fit fit = fit_of(all, architecture);
        demand(fit != Fit::none || (all.complete && !all.cut_off && !all.empty()),
               "only what was looked at as a whole lacks something");
        demand(fit == fit_of(enough, architecture) || all.machine != enough.machine
                   || all.translated != enough.translated || all.complete != enough.complete
                   || all.cut_off != enough.cut_off || all.entries != enough.entries,
               "the same code fits in the same way");
    }
}

} // namespace

/// A program of an image, and what its section of code has.
void run(std::string_view input)
{
    try_file(input);
    try_file(test::library_with_code(input));
}

} // namespace gpucontainer::fuzz
