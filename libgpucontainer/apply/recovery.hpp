// SPDX-License-Identifier: MIT
#pragma once

#include "apply/program.hpp"

#include <string>

namespace gpucontainer::apply {

/// For a journal of an apply that was cut off: marks those of its operations as
/// done whose outcome is there and can be told to be ours, so that undo takes
/// them back.
void adopt_leftovers(const Program& program, int rootfs_fd, const std::string& tree_path);

/// Takes our entries out of a loader cache that somebody else wrote meanwhile.
void clean_loader_cache(int rootfs_fd, const std::string& tree_path);

} // namespace gpucontainer::apply
