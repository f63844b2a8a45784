// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "vendor/catalogue.hpp"
#include "vendor/driver.hpp"
#include "vendor/nvidia/user_space.hpp"

#include <string>

namespace gpucontainer::vendor::nvidia {

/// Name, place and identity of a file in the driver root.
DriverFile describe(const host::DriverRoot& root, const host::DriverRoot::File& opened,
                    FileKind kind);

/// What the catalogue says about it.
void classify(DriverFile& file, const CatalogueRule& rule);

/// Adds the programs that belong to the driver whose libraries lie in
/// `library_directory`, a path in the driver root.
void find_tools(const host::DriverRoot& root, Catalogue catalogue,
                const std::string& library_directory, UserSpace& found);

} // namespace gpucontainer::vendor::nvidia
