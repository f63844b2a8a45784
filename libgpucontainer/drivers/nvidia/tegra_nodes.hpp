// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Looks for a Tegra's device nodes at `paths`, whose components may hold "*" and "?", or
/// without any at those that Jetsons are known to have. A node counts where the kernel
/// calls its number by that name. Those that CUDA opens are the GPU's, which is of
/// index 0; without any the outcome is an error, no_device. Errors: driver.
Result<search::Nodes> tegra_nodes(const std::string& system_root, const std::string& dev_root,
                                  std::span<const std::string> paths, model::Findings& findings);

} // namespace gpucontainer::drivers::nvidia
