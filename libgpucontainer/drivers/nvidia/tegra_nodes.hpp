// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Looks for a Tegra's device nodes at `paths`, whose components may have "*" and "?"; if it is
/// empty, at the paths that Jetsons have. A node counts only if the kernel has that name for its
/// number. The nodes that CUDA opens belong to the GPU with the index `gpu`; if no path leads to
/// one, they are looked for in /dev/nvgpu. Errors: no_device, if none of these is found; driver.
Result<search::Nodes> tegra_nodes(const std::string& system_root, const std::string& dev_root,
                                  std::span<const std::string> paths, unsigned gpu,
                                  model::Findings& findings);

/// The name of its GPU's directory in /dev/nvgpu, "igpu0" or, with JetPack 7, "igpu-0000:01:00.0";
/// none if it has no directory.
Result<std::optional<std::string>> name_of_tegra_gpu(const std::string& system_root,
                                                     const std::string& dev_root);

} // namespace gpucontainer::drivers::nvidia
