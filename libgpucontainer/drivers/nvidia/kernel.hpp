// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/nvidia/mig.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

inline constexpr std::uint16_t pci_vendor = 0x10de;

/// Version of the loaded kernel module; none if it is not loaded.
Result<std::optional<std::string>> module_version(const std::string& system_root);

/// Whether the loaded module is the open one, which drives newer GPUs alone.
bool is_open_module(const std::string& system_root);

struct Gpus {
    std::vector<model::Gpu> gpus; ///< Instances come last.
    Rights rights = {};
    model::Findings findings; ///< GPUs that programs cannot use, and why.
    std::string advice = {};  ///< How the driver gets GPUs that another one has; maybe "".
};

/// The GPUs that the loaded module drives, in PCI order as NVML counts them.
Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& pci);

/// GPUs that another kernel driver has, such as nouveau or vfio-pci, beside those of the module.
Result<model::Findings> gpus_of_others(host::Enumerator& pci);

/// The same, and GPUs that no driver has. Looks at all functions of the bus.
Result<model::Findings> gpus_beside_module(host::Enumerator& pci);

/// GPUs on the bus if no module drives them: without UUIDs and nodes.
Result<Gpus> undriven_gpus(host::Enumerator& pci);

/// The nodes below `dev_root`: control nodes, unified memory, mode setting, those of each GPU
/// and of rights. Those that are missing, or another device, go to `findings`.
Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   const std::vector<model::Gpu>& gpus, host::Enumerator& pci,
                                   const Rights& rights, model::Findings& findings);

/// The nodes of the loaded modules in /dev, with the rights with which the driver has them made.
/// They have none if it lets none be made.
Result<std::vector<search::WantedNode>> host_nodes(const std::string& system_root,
                                                   host::Enumerator& pci);

/// Warnings about what does not work with these nodes.
model::Findings warnings(const std::vector<model::Gpu>& gpus,
                         const std::vector<model::DeviceNode>& nodes);

/// Masks the module's parameters with a copy that forbids the driver's libraries to make nodes; not
/// if it lets none be made.
Result<void> mask_parameters(const std::string& system_root, std::vector<model::Mask>& masks);

/// Masks for a container. With "ModifyDeviceFiles: 1" in the module's parameters, the driver's
/// libraries make the nodes of every GPU if they have the privilege, whichever GPUs the container
/// got. The information of GPUs is masked but for that of a container's.
Result<std::vector<model::Mask>> masks(const std::string& system_root,
                                       const std::vector<model::Gpu>& gpus, const Rights& rights);

} // namespace gpucontainer::drivers::nvidia
