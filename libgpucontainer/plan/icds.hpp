// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <string>
#include <vector>

namespace gpucontainer::plan {

/// Adds the files by which loaders find installable client drivers (ICDs), such as OpenCL's. The
/// image's files for other drivers stay. One with the same name but other content is covered.
void add_icds(Draft& draft);

/// The names that this adds.
std::vector<std::string> icd_paths(Draft& draft);

} // namespace gpucontainer::plan
