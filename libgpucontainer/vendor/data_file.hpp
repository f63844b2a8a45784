// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "vendor/catalogue.hpp"
#include "vendor/driver.hpp"
#include "vendor/installation.hpp"

#include <vector>

namespace gpucontainer::vendor {

/// Adds the files and directories with data that rules name by their paths in the driver
/// root, but those of another installation. What is not there is in `skipped`.
void add_data(const host::DriverRoot& root, Catalogue rules, const Installation& installation,
              std::vector<DriverFile>& files, std::vector<Skipped>& skipped);

} // namespace gpucontainer::vendor
