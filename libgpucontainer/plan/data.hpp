// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds links to data in the tree, at the paths at which libraries read it.
void add_data_links(Draft& draft);

/// The names that this adds.
std::vector<std::string> data_paths(const Draft& draft);

} // namespace gpucontainer::plan
