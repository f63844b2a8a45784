// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <optional>

namespace gpucontainer::drivers::nvidia {

/// NVIDIA's GPUs of Windows (WSL2), as one. CUDA's library asks Windows which GPUs there are, and
/// loads the driver of the release in use. None if Windows has no such driver.
Result<std::optional<model::DriverStack>> detect_wsl(const Sources& sources);

} // namespace gpucontainer::drivers::nvidia
