// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace gpucontainer::vendor {

/// What keeps this process from opening the device node at `path` for reading and
/// writing; "" when nothing does. It is not opened: no GPU wakes up.
std::string obstacle_to_opening(const std::string& path);

} // namespace gpucontainer::vendor
