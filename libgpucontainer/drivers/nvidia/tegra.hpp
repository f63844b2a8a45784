// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <optional>
#include <string>

namespace gpucontainer::drivers::nvidia {

/// The GPU in a Tegra, such as a Jetson's. It is on no bus, and has neither an address nor a UUID.
/// None if the machine is not a Tegra according to the kernel. Call it only if the driver for
/// discrete GPUs lists none: with a discrete GPU, this one is not used.
Result<std::optional<model::DriverStack>> detect_tegra(const Sources& sources);

/// The release of Linux for Tegra, kernel and libraries: "35.4.1"; or the version of the kernel
/// module if that is unknown. None on other machines, and if there are discrete GPUs.
Result<std::optional<std::string>> tegra_version(const std::string& system_root);

} // namespace gpucontainer::drivers::nvidia
