// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Version of the loaded kernel module; none when it is not loaded.
Result<std::optional<std::string>> module_version(const std::string& system_root);

struct Gpus {
    std::vector<model::Gpu> gpus;
    model::Findings findings; ///< GPUs that the driver excludes.
};

/// The GPUs that the loaded module drives, in PCI order as NVML counts them.
Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& pci);

/// GPUs on the bus when no module drives them: no UUID, no node.
Result<Gpus> undriven_gpus(host::Enumerator& pci);

/// Control nodes, unified memory, and one node a GPU, below `dev_root`; what is
/// missing or is not the device of that name goes to `findings`.
Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   const std::vector<model::Gpu>& gpus, model::Findings& findings);

/// What works in part only, with these nodes.
model::Findings warnings(const std::vector<model::Gpu>& gpus,
                         const std::vector<model::DeviceNode>& nodes);

/// The module's parameters as a container should see them: with "1" there, the
/// driver's libraries make the nodes of every GPU by themselves when they run
/// with the privilege to, whichever GPUs the container was given.
Result<std::vector<model::Mask>> masks(const std::string& system_root);

} // namespace gpucontainer::drivers::nvidia
