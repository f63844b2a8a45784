// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <optional>
#include <string>

namespace gpucontainer::drivers::nvidia {

/// The GPU in a Tegra, such as a Jetson's, which is on no bus and has neither an address
/// nor a UUID. None where the kernel does not say that the machine is a Tegra. Where
/// the driver for discrete GPUs lists one, that way is taken, and this GPU is not found.
Result<std::optional<model::DriverStack>> detect_tegra(const Sources& sources);

/// The release of Linux for Tegra, kernel and libraries, "35.4.1"; else the version of the
/// kernel module. None on other machines, and where there are discrete GPUs.
Result<std::optional<std::string>> tegra_version(const std::string& system_root);

} // namespace gpucontainer::drivers::nvidia
