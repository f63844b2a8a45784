// SPDX-License-Identifier: MIT
// The parts of gpuctr_host_open(), which its callers cannot tell apart.
#include "single_calls.hpp"

#include "detect/fingerprint.hpp"
#include "drivers/nvidia/catalogue_nvidia.hpp"
#include "drivers/nvidia/kernel.hpp"
#include "drivers/nvidia/nvidia.hpp"
#include "drivers/nvidia/user_space.hpp"
#include "drivers/vendor.hpp"
#include "host/driver_root.hpp"
#include "host/enumerator.hpp"

#include <benchmark/benchmark.h>

namespace gpucontainer {
namespace {

/// The GPUs that the kernel module drives, and their nodes.
void gpus(benchmark::State& state)
{
    while (state.KeepRunning()) {
        const auto version = drivers::nvidia::module_version("");
        const auto pci = host::make_enumerator();
        auto found = drivers::nvidia::driven_gpus("", *pci);
        if (!version || !found || found->gpus.empty())
            return state.SkipWithError("no GPU");
        benchmark::DoNotOptimize(drivers::nvidia::device_nodes("", "", found->gpus, *pci,
                                                               found->rights, found->findings));
    }
}

/// What sysfs is asked when no module drives them.
void gpus_without_driver(benchmark::State& state)
{
    while (state.KeepRunning()) {
        const auto pci = host::make_enumerator();
        auto found = drivers::nvidia::undriven_gpus(*pci);
        if (!found || found->gpus.empty())
            return state.SkipWithError("no GPU");
    }
}

/// The files of the driver.
void resolution(benchmark::State& state)
{
    const auto version = drivers::nvidia::module_version("");
    const search::SiteCatalogue none;
    while (state.KeepRunning()) {
        const auto root = host::DriverRoot::open("/");
        const search::MergedCatalogue catalogue("nvidia", drivers::nvidia_catalogue(), none);
        if (!version || !root
            || !drivers::nvidia::find_user_space(*root, catalogue.of_driver(), *version,
                                                 model::VersionSource::module))
            return state.SkipWithError("no driver");
    }
}

/// What a later gpuctr_host_is_current() compares.
void fingerprints(benchmark::State& state)
{
    const auto root = host::DriverRoot::open("/");
    const auto pci = host::make_enumerator();
    std::vector<model::DriverStack> found;
    if (root)
        if (auto driver = drivers::nvidia::detect({*pci, *root, "", "", {}, ""}); driver && *driver)
            found.push_back(**std::move(driver));
    if (found.empty())
        return state.SkipWithError("no driver");
    while (state.KeepRunning())
        benchmark::DoNotOptimize(detect::fingerprint("", found, {}, detect::begin_fingerprint("")));
}

BENCHMARK(gpus)->Apply(count_single_calls);
BENCHMARK(resolution)->Apply(count_single_calls);
BENCHMARK(fingerprints)->Apply(count_single_calls);
BENCHMARK(gpus_without_driver)->Apply(count_single_calls);

} // namespace
} // namespace gpucontainer
