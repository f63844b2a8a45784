// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <span>
#include <string>

namespace gpucontainer::drivers {

/// Adds user space of no particular kernel module's version to a driver: what its
/// built-in catalogue and the site's name, as find_closed_set() finds it. Where it is not
/// installed the nodes are of use alone. Errors: driver.
Result<void> add_optional_files(const Sources& sources, model::Catalogue built_in,
                                std::span<const std::string> directories,
                                model::DriverStack& stack);

/// The same driver where there is no GPU of it: its files alone. Errors: no_device,
/// where nothing of it is installed.
Result<model::DriverStack> without_gpus(model::DriverStack stack);

} // namespace gpucontainer::drivers
