// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <vector>

namespace gpucontainer::search {

/// Adds data: files and directories that rules name by their paths in the driver root. What is
/// missing, or of another installation, goes to `findings`.
void add_data(const host::DriverRoot& root, model::Catalogue rules,
              const Installation& installation, std::vector<model::DriverFile>& files,
              model::Findings& findings);

} // namespace gpucontainer::search
