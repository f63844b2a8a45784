// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/installation.hpp"

#include <optional>
#include <string>

namespace gpucontainer::search {

/// The tool at `path`, if an interpreter runs it. It finds its modules beside itself, so it must
/// lie in a directory that the catalogue names as data, of the same installation.
std::optional<model::DriverFile> find_script(const host::DriverRoot& root,
                                             const model::CatalogueRule& tool,
                                             const std::string& path, model::Catalogue catalogue,
                                             const Installation& installation);

} // namespace gpucontainer::search
