// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Adds the device nodes of the chosen GPUs. Errors: no_device for one that is
/// missing, permission for one that was asked for and may not be used.
Result<void> add_nodes(Draft& draft);

/// Covers what the kernel shows and would make the driver create further nodes.
void add_masks(Draft& draft);

} // namespace gpucontainer::plan
