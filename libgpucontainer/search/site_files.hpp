// SPDX-License-Identifier: MIT
#pragma once

#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"

namespace gpucontainer::search {

/// Adds to a driver what a site's rules name besides: libraries as the loader
/// finds them, by its cache and then in its directories; tools beside the driver's
/// own and in the usual directories of programs. A library's name counts for
/// all versions when it ends in ".so". ELF files of this machine only; a library
/// whose file name has the version of another driver is not taken. What is not
/// found stands in `driver.findings`.
void add_site_files(const host::DriverRoot& root, model::Catalogue rules,
                    bool (*is_driver_version)(std::string_view), model::DriverStack& driver);

} // namespace gpucontainer::search
