// SPDX-License-Identifier: MIT
#include "drivers/amd/diagnosis.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/try.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/amd/topology.hpp"
#include "drivers/bus_causes.hpp"
#include "drivers/wsl.hpp"
#include "host/kernel_files.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpucontainer::drivers::amd {

using model::Blocks;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

constexpr std::array<std::string_view, 1> own_drivers = {"amdgpu"};
constexpr std::string_view own_module = own_drivers.front();

bool is_gpu(const host::PciDevice& function)
{
    constexpr std::uint32_t processing_accelerator = 0x12;
    return host::is_display_controller(function)
           || function.class_code >> 16U == processing_accelerator;
}

/// Where the first GPU's node of the topology would be: the compute driver numbers processors, one
/// for each memory node, before all GPUs.
std::string place_of_first_gpu(const DriverStack& driver)
{
    int processors = 1;
    for (const model::Gpu& gpu : driver.gpus)
        processors = std::max(processors, gpu.numa_node + 1);
    return base::format("/sys/devices/virtual/kfd/kfd/topology/nodes/{}/properties", processors);
}

/// The compute driver is there, and its topology is not: what programs read of it is empty.
Result<void> add_topology(const Sources& sources, const DriverStack& driver, model::Causes& causes)
{
    const auto devices = base::read_file(sources.system_root + "/proc/devices");
    if (!devices || !search::character_major(*devices, "kfd"))
        return {};
    GPUCTR_TRY(const Topology topology, read_topology(sources.system_root));
    if (topology.present)
        return {};
    causes.push_back(
        {{FindingCode::kernel_unready, "KFD's topology",
          "sysfs does not show it: ROCm finds no GPU, as in a container within a container",
          place_of_first_gpu(driver),
          "mount sysfs of the host in the outer container; /sys/devices/virtual/kfd must not be "
          "hidden there",
          model::Capability::compute},
         Stage::init});
    return {};
}

} // namespace

Result<void> add_host_causes(const Sources& sources, const DriverStack* driver,
                             model::Causes& causes)
{
    if (driver != nullptr && wsl::is_of_windows(*driver)) {
        wsl::add_causes(*driver, causes);
        return {};
    }
    GPUCTR_TRY(const auto loaded,
               host::loaded_module_version(sources.system_root, std::string(own_module)));
    GPUCTR_TRY(const auto others, without_own_driver({pci_vendor, own_drivers, is_gpu},
                                                     sources.system_root, sources.pci));
    if (!loaded && !others.empty())
        causes.push_back(module_not_loaded(others, own_module));
    for (const host::PciDevice& gpu : others)
        if (loaded)
            causes.push_back(
                held_by_other(gpu, own_module, driver == nullptr ? Blocks::all : Blocks::some));
    if (driver != nullptr)
        GPUCTR_CHECK(add_topology(sources, *driver, causes));
    return {};
}

} // namespace gpucontainer::drivers::amd
