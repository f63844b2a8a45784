// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds the files by which OpenCL loaders find the drivers' libraries. Those of other
/// drivers stay, and one of the same name that says something else is covered.
void add_opencl(Draft& draft);

/// The names that this adds.
std::vector<std::string> opencl_paths(Draft& draft);

} // namespace gpucontainer::plan
