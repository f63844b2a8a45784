// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <optional>

namespace gpucontainer::drivers::nvidia {

/// NVIDIA's GPUs of Windows (WSL2), as one: CUDA's library asks Windows which there are,
/// and loads the driver of the release that is in use. None where Windows has no such
/// driver.
Result<std::optional<model::DriverStack>> detect_wsl(const Sources& sources);

} // namespace gpucontainer::drivers::nvidia
