// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <vector>

namespace gpucontainer::drivers::nvidia {

/// What chooses among them; `inside` is how CUDA's tells the chosen ones.
std::vector<model::VisibleDevices> variables(model::VisibleDevices::Inside inside);

/// What each of NVIDIA's drivers has in common.
model::DriverStack new_stack(const Sources& sources);

} // namespace gpucontainer::drivers::nvidia
