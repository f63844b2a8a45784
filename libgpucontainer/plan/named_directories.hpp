// SPDX-License-Identifier: MIT
#pragma once

#include "model/driver.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::plan {

/// What a variable of the caller names in place of a driver's usual directory.
struct NamedPath {
    std::string vendor;
    std::string path;      ///< On this host.
    std::uint32_t uid = 0; ///< Its owner.
    std::string problem;   ///< Why it is not given to a container; "" if it is.
};

/// Looks at the directories of this host that these variables name, one for a vendor at most. In a
/// program with raised privileges they name none: it would show its caller other directories.
std::vector<NamedPath> named_directories(std::span<const model::DriverStack> drivers,
                                         const std::map<std::string, std::string>& variables);

} // namespace gpucontainer::plan
