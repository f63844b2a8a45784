// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <string>
#include <vector>

namespace gpuctr_cli {

/// Opens `path`, which has to be one of `directories` or below it. No link leads out
/// of that directory, and only root may have a say in where it is. Throws
/// gpucontainer::Error: permission, rootfs.
Fd open_restricted_root(const std::vector<std::string>& directories, const std::string& path);

} // namespace gpuctr_cli
