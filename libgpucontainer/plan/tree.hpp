// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Chooses where the tree is. Errors: usage, for a path that cannot be one.
Result<void> choose_tree_path(Draft& draft);

/// Adds the tree with the driver's files, and its mount. Errors: rootfs, where
/// something else is in its place.
Result<void> add_tree(Draft& draft);

} // namespace gpucontainer::plan
