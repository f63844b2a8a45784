// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Adds covers: our files over the image's own copies, which would be found instead.
void add_covers(Draft& draft);

} // namespace gpucontainer::plan
