// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gpucontainer::drivers::habana {

inline constexpr std::uint16_t pci_vendor = 0x1da3;

struct Accelerators {
    std::vector<model::Gpu> gpus;           ///< In the order of the numbers of their nodes.
    std::vector<search::WantedNode> wanted; ///< Their nodes.
    std::string prefix;                     ///< Of names with a number: "accel", "hl".
    model::Findings findings;
};

/// The accelerators that habanalabs drives, but not those of other kernel drivers.
Result<Accelerators> find_accelerators(const std::string& system_root,
                                       host::Enumerator& enumerator);

/// Those on the bus that it does not drive, for messages.
Result<std::string> undriven(host::Enumerator& enumerator);

} // namespace gpucontainer::drivers::habana
