// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Chooses the path of the tree. Errors: usage, for one that cannot be used.
Result<void> choose_tree_path(Draft& draft);

/// Adds the tree with the driver's files, and its mount. Errors: rootfs, if something else is in
/// its place.
Result<void> add_tree(Draft& draft);

} // namespace gpucontainer::plan
