// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Adds the device nodes of the chosen GPUs. Errors: no_device, if one is missing; permission, if
/// one that was asked for may not be used.
Result<void> add_nodes(Draft& draft);

/// Covers files of the kernel that would make the driver create more nodes.
void add_masks(Draft& draft);

} // namespace gpucontainer::plan
