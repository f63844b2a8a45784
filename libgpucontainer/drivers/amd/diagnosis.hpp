// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/amd/image_rocm.hpp"
#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::amd {

/// GPUs that amdgpu does not have, and a kernel that does not show its compute driver's topology.
Result<void> add_host_causes(const Sources& sources, const model::DriverStack* driver,
                             model::Causes& causes);

inline constexpr Diagnosis diagnosis = {add_host_causes, check_container};

} // namespace gpucontainer::drivers::amd
