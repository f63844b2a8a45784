// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Names that programs load, and for these libraries the name that a linker looks for. Both are
/// only looked for in the image's own directories.
std::vector<std::string> well_known_names(const model::DriverFile& file);

/// Adds links into the tree at missing names, so that programs with fixed paths find the driver.
void add_entry_names(Draft& draft);

/// Paths of all those links, also of existing ones.
std::vector<std::string> entry_paths(const Draft& draft);

} // namespace gpucontainer::plan
