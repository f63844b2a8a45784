// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::intel {

/// GPUs that neither i915 nor xe has, and those with which programs cannot compute.
Result<void> add_host_causes(const Sources& sources, const model::DriverStack* driver,
                             model::Causes& causes);

inline constexpr Diagnosis diagnosis = {add_host_causes, nullptr};

} // namespace gpucontainer::drivers::intel
