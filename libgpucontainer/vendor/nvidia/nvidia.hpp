// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/vendor.hpp"

namespace gpucontainer::vendor::nvidia {

/// NVIDIA's GPUs from PCI and /proc/driver/nvidia, the files of their driver
/// and its nodes. Nothing of the driver is loaded or executed.
Result<std::optional<DriverStack>> detect(const Sources& sources);

} // namespace gpucontainer::vendor::nvidia
