// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"

#include <string>
#include <vector>

namespace gpucontainer::simhost {

/// Has no device node of a recording open a device of this machine, also one that it gets later.
/// A node whose major number a driver of this machine has, or a module that the kernel would load
/// for it, gets one that no driver can have: 3072 more. Block devices go, and links that lead out
/// of /dev.
void restrict_nodes(Recording& host, std::vector<std::string>& left_out);

} // namespace gpucontainer::simhost
