// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>

namespace gpucontainer::plan {

/// What the image has in the place of a node; "" if the node can be had.
std::string obstacle_in_image(Draft& draft, const std::string& path);

/// Adds the device nodes of the chosen GPUs. Errors: no_device, if one is missing; permission, if
/// one that was asked for may not be used.
Result<void> add_nodes(Draft& draft);

/// Covers files of the kernel that would make the driver create more nodes.
void add_masks(Draft& draft);

/// Adds what the container shares with services of the host, if its names need no overlay.
void add_shared_paths(Draft& draft);

} // namespace gpucontainer::plan
