// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// Name, path and identity of a file in the driver root.
model::DriverFile describe(const host::DriverRoot& root, const host::DriverRoot::File& opened,
                           model::FileKind kind);

/// Adds the programs of the driver whose libraries are in `library_directory`, a path in the driver
/// root.
void find_tools(const host::DriverRoot& root, model::Catalogue catalogue,
                const std::string& library_directory, std::vector<model::DriverFile>& files,
                model::Findings& findings);

} // namespace gpucontainer::drivers::nvidia
