// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// GPUs on the bus that programs cannot use: no driver or another one has them, the module does not
/// know them or was told to exclude them, or they have fallen off. With `has_tegra`, this host
/// is a Tegra with a GPU of its own.
Result<void> add_gpu_causes(const Sources& sources, const model::DriverStack* driver,
                            bool has_tegra, model::Causes& causes);

/// Instances of GPUs in MIG mode on which nothing can run.
void add_instance_causes(const model::DriverStack& driver, model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
