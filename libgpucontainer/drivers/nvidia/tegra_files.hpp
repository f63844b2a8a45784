// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/nvidia/tegra_csv.hpp"
#include "host/driver_root.hpp"
#include "model/catalogue.hpp"
#include "model/driver.hpp"
#include "search/closed_set.hpp"

#include <string>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// The directory of the lists of a Jetson's packages, "*.csv".
inline constexpr const char* tegra_lists =
    "/etc/nvidia-container-runtime/host-files-for-container.d";
/// The file that names the installed release of Linux for Tegra.
inline constexpr const char* tegra_release = "/etc/nv_tegra_release";

/// The rows of all lists in the driver root, in the order of their file names. Rows and lists that
/// cannot be read go to `findings`, with file and line.
std::vector<TegraRow> read_tegra_lists(const host::DriverRoot& root, model::Findings& findings);

/// The files that the rows name, except nodes. Without rows, the libraries beside a Tegra's
/// libcuda, in /usr/lib/*-linux-gnu/nvidia or ../tegra. Libraries that these need are added. Files
/// that the catalogue does not have are for computing. Errors: driver, if a part of the host cannot
/// be read.
Result<search::ClosedSet> find_tegra_files(const host::DriverRoot& root, model::Catalogue catalogue,
                                           const std::vector<TegraRow>& rows);

} // namespace gpucontainer::drivers::nvidia
