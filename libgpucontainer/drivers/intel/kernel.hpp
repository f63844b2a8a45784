// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::drivers::intel {

inline constexpr std::uint16_t pci_vendor = 0x8086;

struct Gpus {
    /// As Level Zero counts: discrete ones before integrated ones, both by PCI address.
    std::vector<model::Gpu> gpus;
    std::vector<search::WantedNode> wanted; ///< Their nodes.
    model::Findings findings;
};

/// The GPUs that i915 or xe drives. If virtual functions are driven here, they are used instead of
/// their physical function. Links of nodes are those below `dev_root`.
Result<Gpus> find_gpus(const std::string& system_root, const std::string& dev_root,
                       host::Enumerator& enumerator);

/// GPUs on the bus that have no node.
Result<model::Findings> undriven(host::Enumerator& enumerator, const Gpus& found);

} // namespace gpucontainer::drivers::intel
