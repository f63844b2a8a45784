// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "vendor/driver.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::vendor::nvidia {

/// Version of the loaded kernel module; none when it is not loaded.
Result<std::optional<std::string>> module_version(const std::string& system_root);

/// Major number of a character driver in /proc/devices.
std::optional<unsigned> character_major(const std::string& proc_devices, std::string_view name);

struct Gpus {
    std::vector<Gpu> gpus;
    std::vector<Skipped> skipped; ///< GPUs that the driver excludes.
};

/// The GPUs that the loaded module drives, in PCI order as NVML counts them.
Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& pci);

/// GPUs on the bus when no module drives them: no UUID, no node.
Result<Gpus> undriven_gpus(host::Enumerator& pci);

/// Control nodes, unified memory, and one node a GPU; what is missing or is
/// not the device of that name goes to `skipped`.
std::vector<DeviceNode> device_nodes(const std::string& system_root, const std::vector<Gpu>& gpus,
                                     std::vector<Skipped>& skipped);

} // namespace gpucontainer::vendor::nvidia
