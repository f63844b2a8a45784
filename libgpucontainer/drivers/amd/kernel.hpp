// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <string>
#include <vector>

namespace gpucontainer::drivers::amd {

struct Gpus {
    std::vector<model::Gpu> gpus;
    std::vector<unsigned> library_order;   ///< As in DriverStack.
    std::vector<search::WantedNode> nodes; ///< Theirs; without links.
    model::Findings findings;              ///< Render nodes that are not in use, and GPUs.
};

/// The GPUs and partitions that programs can use, ordered by PCI address, partitions of
/// one by render node. More nodes may be there: the kernel makes eight for each GPU of
/// some models, and tells in the topology of its compute driver which are in use.
Result<Gpus> driven_gpus(const std::string& system_root, host::Enumerator& devices);

/// AMD GPUs on the bus, to be told of when no module drives them: "0000:03:00.0 (vfio-pci)".
Result<std::vector<std::string>> undriven_gpus(host::Enumerator& devices);

/// /dev/kfd and the nodes of the GPUs below `dev_root`, with the links to them; what is
/// missing or is not the device of that name goes to `findings`.
Result<search::Nodes> device_nodes(const std::string& system_root, const std::string& dev_root,
                                   std::vector<search::WantedNode> of_gpus,
                                   model::Findings& findings);

} // namespace gpucontainer::drivers::amd
