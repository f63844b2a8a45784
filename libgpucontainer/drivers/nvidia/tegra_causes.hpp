// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// What a Tegra's own GPU lacks. Whether this host is a Tegra that has one.
Result<bool> add_tegra_causes(const Sources& sources, const model::DriverStack* driver,
                              model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
