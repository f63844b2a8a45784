// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::habana {

/// Accelerators that habanalabs does not have, and nodes for managing and connecting them.
Result<void> add_host_causes(const Sources& sources, const model::DriverStack* driver,
                             model::Causes& causes);

inline constexpr Diagnosis diagnosis = {add_host_causes, nullptr};

} // namespace gpucontainer::drivers::habana
