// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds each file of the driver under all its names, in the directories of the image's libraries
/// and tools.
void add_merged(Draft& draft);

/// Paths of all those names, also of existing ones.
std::vector<std::string> merged_paths(const Draft& draft);

} // namespace gpucontainer::plan
