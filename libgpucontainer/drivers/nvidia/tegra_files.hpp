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

/// Where the lists of a Jetson's packages are, "*.csv".
inline constexpr const char* tegra_lists =
    "/etc/nvidia-container-runtime/host-files-for-container.d";
/// Which release of Linux for Tegra is installed.
inline constexpr const char* tegra_release = "/etc/nv_tegra_release";

/// The rows of all lists in the driver root, in the order of their files' names. What
/// cannot be read goes to `findings`, with its file and line.
std::vector<TegraRow> read_tegra_lists(const host::DriverRoot& root, model::Findings& findings);

/// The files of the rows, which are not those of nodes; without any, the libraries that
/// lie beside a Tegra's libcuda, in /usr/lib/*-linux-gnu/nvidia or ../tegra. And what the
/// libraries cannot be loaded without. What the catalogue does not know is for computing.
/// Errors: driver, where a part of the host cannot be read.
Result<search::ClosedSet> find_tegra_files(const host::DriverRoot& root, model::Catalogue catalogue,
                                           const std::vector<TegraRow>& rows);

} // namespace gpucontainer::drivers::nvidia
