// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Adds our files over copies of the image's own that would be found instead.
void add_covers(Draft& draft);

} // namespace gpucontainer::plan
