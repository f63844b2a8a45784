// SPDX-License-Identifier: MIT
#pragma once

#include "apply/attach.hpp"
#include "apply/program.hpp"

#include <string>

namespace gpucontainer::apply {

/// For a journal of an apply that was cut off: mark those of its operations as
/// done whose outcome is there and can be told to be ours, so that undo takes
/// them back. Names are looked for once the mounts that hide them are gone. False when
/// it could not be told of one whether it is there: `failure` says of which first.
bool adopt_mounts(const Program& program, int rootfs_fd, Failure& failure);
bool adopt_names(const Program& program, int rootfs_fd, const std::string& tree_path,
                 Failure& failure);

/// Takes our entries out of a loader cache that somebody else wrote meanwhile:
/// what lies in the tree, and what our links led to it.
void clean_loader_cache(const Program& program, int rootfs_fd, const std::string& tree_path);

} // namespace gpucontainer::apply
