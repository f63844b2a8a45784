// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::drivers::amd {

inline constexpr std::uint16_t pci_vendor = 0x1002;

struct Gpus {
    std::vector<model::Gpu> gpus;
    std::vector<unsigned> library_order;   ///< As in DriverStack.
    std::vector<search::WantedNode> nodes; ///< Their nodes, without links.
    model::Findings findings;              ///< Render nodes and GPUs that are not in use.
};

/// The GPUs and partitions that programs can use, ordered by PCI address, and partitions of a GPU
/// by render node. There may be more nodes: for some models, the kernel makes eight for each GPU,
/// and the topology of its compute driver tells which are in use.
Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& devices);

/// AMD GPUs on the bus, for a message if no module drives them: "0000:03:00.0 (vfio-pci)".
Result<std::vector<std::string>> undriven_gpus(host::Enumerator& devices);

/// /dev/kfd and the nodes of the GPUs below `dev_root`, with the links to them. Those that are
/// missing, or another device, go to `findings`.
Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   std::vector<search::WantedNode> of_gpus,
                                   model::Findings& findings);

} // namespace gpucontainer::drivers::amd
