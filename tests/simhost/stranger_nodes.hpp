// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"

#include <string>
#include <vector>

namespace gpucontainer::simhost {

/// Takes out of a recording the device nodes by which somebody could open a device of this machine,
/// also one that it gets later: block devices, numbers whose major number a driver of this machine
/// has, or a module that the kernel would load for it; and links that lead out of /dev.
void restrict_nodes(Recording& host, std::vector<std::string>& left_out);

} // namespace gpucontainer::simhost
