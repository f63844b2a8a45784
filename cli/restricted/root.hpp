// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <string>
#include <vector>

namespace gpuctr_cli {

/// Opens `path`, which must be one of `directories` or below one. No symbolic link leads out of
/// that directory, and only root can change where its path leads. Throws gpucontainer::Error:
/// permission, rootfs.
Fd open_restricted_root(const std::vector<std::string>& directories, const std::string& path);

} // namespace gpuctr_cli
