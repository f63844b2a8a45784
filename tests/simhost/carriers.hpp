// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"
#include "tree.hpp"

namespace gpucontainer::simhost {

/// Shows each device as a real sysfs directory below /sys, dressed up by mounts
/// as the recorded one; libudev believes no other file system. `machine_sys` is
/// the machine's sysfs; `tree`, at `tree_path`, holds what is mounted. All or
/// nothing. Attributes that the real directory lacks do not appear.
Result<void> dress_carriers(const Recording& host, int machine_sys, Tree& tree,
                            const std::string& tree_path);

} // namespace gpucontainer::simhost
