// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

namespace gpucontainer::plan {

/// Adds each file of the driver under each name that programs load, by a bind mount of its own:
/// libraries in the default directory of each family of distributions, so that every loader finds
/// them without a cache.
void add_binds(Draft& draft);

} // namespace gpucontainer::plan
