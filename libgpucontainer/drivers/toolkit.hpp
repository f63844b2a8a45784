// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// What a host has to build programs for a driver: a compiler, headers, libraries.
struct Toolkit {
    std::string path;    ///< Its directory on the host, without links.
    model::FileId id;    ///< Of that, as it was seen.
    std::string version; ///< "12.4"
};

/// Whether what a toolkit builds runs with a driver.
struct ToolkitVerdict {
    std::string objection; ///< Why it does not; "" if it does.
    std::string doubt;     ///< What may not run; maybe "".
    std::string hint = {}; ///< What can be done about either.
};

/// The toolkits of a vendor.
struct Toolkits {
    std::string_view title; ///< "CUDA toolkit"
    std::string_view place; ///< Where images have theirs: "/usr/local/cuda".
    /// Errors: usage, if the directory is missing or is no toolkit; permission.
    Result<Toolkit> (*read)(const std::string& directory);
    /// Directories that may have one, the preferred one first. `root` is a prefix, "" on a real
    /// host.
    std::vector<std::string> (*usual)(const std::string& root);
    ToolkitVerdict (*judge)(const model::DriverStack&, const Toolkit&);
};

} // namespace gpucontainer::drivers
