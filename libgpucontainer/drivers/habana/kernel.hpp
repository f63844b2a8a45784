// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <string>
#include <vector>

namespace gpucontainer::drivers::habana {

struct Accelerators {
    std::vector<model::Gpu> gpus;           ///< In the order of the numbers of their nodes.
    std::vector<search::WantedNode> wanted; ///< Theirs.
    std::string prefix;                     ///< Of the name that a number makes one: "accel", "hl".
    model::Findings findings;
};

/// What habanalabs drives, told from other kernel drivers' accelerators.
Result<Accelerators> find_accelerators(const std::string& system_root,
                                       host::Enumerator& enumerator);

/// Those on the bus that it does not drive, in words.
Result<std::string> undriven(host::Enumerator& enumerator);

} // namespace gpucontainer::drivers::habana
