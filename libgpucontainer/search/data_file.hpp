// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <string>
#include <vector>

namespace gpucontainer::search {

/// Where a driver's data may be besides the paths that rules have.
struct DataPlaces {
    std::string version = {};                ///< Of the driver, for "{version}".
    std::vector<std::string> prefixes = {};  ///< Directories in the place of "/usr".
    std::vector<std::string> libraries = {}; ///< Directories of the driver's libraries.
};

/// Adds data: files and directories that rules name by their paths in the driver root. What is
/// missing, or of another installation, goes to `findings`.
void add_data(const host::DriverRoot& root, model::Catalogue rules,
              const Installation& installation, std::vector<model::DriverFile>& files,
              model::Findings& findings, const DataPlaces& places = {});

} // namespace gpucontainer::search
