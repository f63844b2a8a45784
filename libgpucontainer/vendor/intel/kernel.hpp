// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/enumerator.hpp"
#include "vendor/driver.hpp"
#include "vendor/nodes.hpp"

#include <string>
#include <vector>

namespace gpucontainer::vendor::intel {

struct Gpus {
    /// As Level Zero counts: discrete ones before integrated ones, each by PCI address.
    std::vector<Gpu> gpus;
    std::vector<WantedNode> wanted; ///< Theirs.
    std::vector<Warning> warnings;
    std::vector<Skipped> skipped;
};

/// The GPUs that i915 or xe drives. A physical function whose virtual functions are
/// driven here is none: they are used in its place. Links of nodes are those below
/// `dev_root`.
Result<Gpus> find_gpus(const std::string& system_root, const std::string& dev_root,
                       host::Enumerator& enumerator);

/// Those on the bus that have no node.
Result<std::vector<Skipped>> undriven(host::Enumerator& enumerator, const std::vector<Gpu>& driven);

} // namespace gpucontainer::vendor::intel
