// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"

#include <vector>

namespace gpucontainer::search {

/// Adds files to a driver that only a site's rules name. Libraries are found as the loader finds
/// them: by its cache, then in its directories. Tools are found beside the driver's own and in the
/// usual directories of programs. A library's name that ends in ".so" stands for all versions. Only
/// ELF files for this machine are added, and no library whose file name has the version of another
/// driver. What is not found goes to `driver.findings`.
void add_site_files(const host::DriverRoot& root, model::Catalogue rules,
                    bool (*is_driver_version)(std::string_view), model::DriverStack& driver);

/// Sorts files by kind, then by name. Of two libraries of one name, that for 32-bit programs is
/// last.
void sort(std::vector<model::DriverFile>& files);

} // namespace gpucontainer::search
