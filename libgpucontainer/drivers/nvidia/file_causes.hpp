// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

namespace gpucontainer::drivers::nvidia {

/// Why the driver's files do not fit the loaded module, or its main library cannot be used.
Result<void> add_file_failure(const Sources& sources, model::Causes& causes);

/// Files without which a part of the driver does not work, and those that cannot be loaded.
void add_file_causes(const model::DriverStack& driver, model::Causes& causes);

} // namespace gpucontainer::drivers::nvidia
