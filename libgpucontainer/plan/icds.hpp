// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds the small files by which loaders find drivers (ICDs of OpenCL and Vulkan, EGL), or drivers
/// learn of their GPUs. The
/// image's files for other drivers stay. One with the same name but other content is covered.
void add_icds(Draft& draft);

/// The names that this adds.
std::vector<std::string> icd_paths(Draft& draft);

} // namespace gpucontainer::plan
