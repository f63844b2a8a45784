// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/specification.hpp"
#include "elf/machine.hpp"

#include <string>
#include <vector>

namespace gpucontainer::exports {

/// Gives containers the libraries of the tree that is staged on this host, by a few mounts of its
/// directory instead of one for each name of a library: below the default directories of loaders,
/// where they search without a loader cache, and below `link`, where LD_LIBRARY_PATH of some images
/// leads; it may be "". What is not in the tree stays a mount of its own. Errors: usage, if
/// nothing is staged there, or none of the libraries; permission, if others may write there.
Result<void> bind_staged(std::vector<cdi::Mount>& mounts, const std::string& tree,
                         const std::string& link, const elf::Machine& machine);

} // namespace gpucontainer::exports
