// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds each file of the driver under its own name, and its further ones, in
/// the directories that the image's libraries and tools are in.
void add_merged(Draft& draft);

/// Paths of all those names, whether they are there already or not.
std::vector<std::string> merged_paths(const Draft& draft);

} // namespace gpucontainer::plan
