// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/nvidia/kernel.hpp"
#include "drivers/vendor.hpp"

#include <optional>
#include <string>

namespace gpucontainer::drivers::nvidia {

/// Whether the machine is a Tegra according to the kernel.
Result<bool> is_tegra(const std::string& system_root);

/// The GPU in a Tegra, such as a Jetson's. It is on no bus, and has neither a UUID nor, before
/// JetPack 7, an address. None if the machine is not a Tegra according to the kernel.
Result<std::optional<model::DriverStack>> detect_tegra(const Sources& sources);

/// The same beside GPUs that the module `version` lists: with JetPack 7 the one in the Tegra may be
/// among them, or one in a slot that has the same user space. None if that is not installed: then
/// they have a driver of their own.
Result<std::optional<model::DriverStack>>
detect_tegra_with(const Sources& sources, const Gpus& listed, const std::string& version);

/// The release of Linux for Tegra, kernel and libraries: "35.4.1"; or the version of the kernel
/// module if that is unknown. None on other machines, and if there are discrete GPUs.
Result<std::optional<std::string>> tegra_version(const std::string& system_root);

} // namespace gpucontainer::drivers::nvidia
