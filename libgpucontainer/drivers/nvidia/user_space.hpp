// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "host/driver_root.hpp"
#include "model/driver.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// The files of one driver, and what was seen and not taken.
struct UserSpace {
    std::string version;
    std::string library_directory; ///< Of libcuda's real file.
    std::vector<model::DriverFile> files;
    model::Findings findings;
};

/// Driver versions count from 300 up and have a dot; "4" and "1.1.13" are
/// versions of the library itself.
bool is_driver_version(std::string_view text);

/// Finds libcuda of `version`, or without one of whatever version is first,
/// and with it every library and tool of that driver.
///
/// A candidate counts only when its ELF class, machine and soname fit, it is no
/// stub and no forward-compatibility copy, and the suffix of its real file name
/// is the version. `source` is where the version is from, for messages. Errors:
/// Errc::driver, naming what was found instead; Errc::no_device where no libcuda was.
Result<UserSpace> find_user_space(const host::DriverRoot& root, model::Catalogue catalogue,
                                  const std::optional<std::string>& version,
                                  model::VersionSource source);

} // namespace gpucontainer::drivers::nvidia
