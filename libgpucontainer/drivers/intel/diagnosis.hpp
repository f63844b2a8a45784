// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/intel/image_level_zero.hpp"
#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::intel {

/// GPUs that neither i915 nor xe has, and those with which programs cannot compute.
Result<void> add_host_causes(const Sources& sources, const model::DriverStack* driver,
                             model::Causes& causes);

inline constexpr Diagnosis diagnosis = {add_host_causes, check_container};

} // namespace gpucontainer::drivers::intel
