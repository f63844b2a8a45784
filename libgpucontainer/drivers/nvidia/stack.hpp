// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <vector>

namespace gpucontainer::drivers::nvidia {

/// The variables that choose GPUs. `inside` is for CUDA's.
std::vector<model::VisibleDevices> variables(model::VisibleDevices::Inside inside);

/// What all of NVIDIA's drivers have in common.
model::DriverStack new_stack(const Sources& sources);

} // namespace gpucontainer::drivers::nvidia
