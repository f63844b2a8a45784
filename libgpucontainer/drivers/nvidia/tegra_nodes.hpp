// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Looks for a Tegra's device nodes at `paths`, whose components may have "*" and "?"; if it is
/// empty, at the paths that Jetsons have. A node counts only if the kernel has that name for its
/// number. The nodes that CUDA opens belong to the GPU with index 0. Errors: no_device, if none of
/// these is found; driver.
Result<search::Nodes> tegra_nodes(const std::string& system_root, const std::string& dev_root,
                                  std::span<const std::string> paths, model::Findings& findings);

} // namespace gpucontainer::drivers::nvidia
