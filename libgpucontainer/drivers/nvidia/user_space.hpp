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

/// The files of a driver, and what was found but not taken.
struct UserSpace {
    std::string version;
    std::string library_directory;        ///< Of libcuda's real file.
    std::vector<std::string> directories; ///< Of its libraries, in the driver root.
    /// Directories in the driver root that the driver has in the place of "/usr"; "" if all its
    /// files are in one directory.
    std::vector<std::string> prefixes;
    std::vector<model::DriverFile> files;
    model::Findings findings;
};

/// Finds libcuda and every other library and tool of its driver: of `version`, or of the first one
/// found if that is none. So also its libraries for 32-bit programs, if it has some.
///
/// A file counts only if its ELF class, machine and soname fit, it is neither a stub nor a
/// forward-compatibility copy, and its real name ends in the version. `source` is where the version
/// is from, for messages. Errors: driver, with what was found instead; no_device, if no libcuda was
/// found.
Result<UserSpace> find_user_space(const host::DriverRoot& root, model::Catalogue catalogue,
                                  const std::optional<std::string>& version,
                                  model::VersionSource source);

} // namespace gpucontainer::drivers::nvidia
