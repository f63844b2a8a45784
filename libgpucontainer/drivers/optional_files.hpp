// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <span>
#include <string>

namespace gpucontainer::drivers {

/// Adds the files that a driver's built-in catalogue and the site's name, as find_closed_set()
/// finds them. They need no particular version of the kernel module. If they are not installed, the
/// nodes are still useful. Errors: driver.
Result<void> add_optional_files(const Sources& sources, model::Catalogue built_in,
                                std::span<const std::string> directories,
                                model::DriverStack& stack);

/// The driver without GPUs: only its files. Errors: no_device, if none is installed.
Result<model::DriverStack> without_gpus(model::DriverStack stack);

} // namespace gpucontainer::drivers
