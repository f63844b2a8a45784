// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <optional>
#include <string>

namespace gpucontainer::search {

/// A tool that an interpreter runs. It finds its modules beside itself, so that it is one
/// only in a directory that the catalogue names as data of the same installation.
std::optional<model::DriverFile> find_script(const host::DriverRoot& root,
                                             const model::CatalogueRule& tool,
                                             const std::string& path, model::Catalogue catalogue,
                                             const Installation& installation);

} // namespace gpucontainer::search
