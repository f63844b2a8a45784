// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <vector>

namespace gpucontainer::search {

/// Adds the files and directories with data that rules name by their paths in the driver
/// root, but those of another installation. What is not there is in `findings`.
void add_data(const host::DriverRoot& root, model::Catalogue rules,
              const Installation& installation, std::vector<model::DriverFile>& files,
              model::Findings& findings);

} // namespace gpucontainer::search
