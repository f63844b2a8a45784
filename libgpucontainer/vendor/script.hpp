// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "vendor/catalogue.hpp"
#include "vendor/driver.hpp"
#include "vendor/installation.hpp"

#include <optional>
#include <string>

namespace gpucontainer::vendor {

/// A tool that an interpreter runs. It finds its modules beside itself, so that it is one
/// only in a directory that the catalogue names as data of the same installation.
std::optional<DriverFile> find_script(const host::DriverRoot& root, const CatalogueRule& tool,
                                      const std::string& path, Catalogue catalogue,
                                      const Installation& installation);

} // namespace gpucontainer::vendor
