// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Programs with fixed paths find the driver too: adds links into the tree where
/// nothing is.
void add_entry_names(Draft& draft);

/// Paths of all those links, whether they are there already or not.
std::vector<std::string> entry_paths(const Draft& draft);

} // namespace gpucontainer::plan
