// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// The GPUs of a machine with NVSwitches work only once the fabric manager has joined them. Adds
/// that it does not run, if it has to.
Result<void> add_fabric_manager(const Sources& sources, const model::DriverStack& driver,
                                model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
