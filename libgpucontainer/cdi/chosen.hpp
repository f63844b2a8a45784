// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/directories.hpp"
#include "cdi/specification.hpp"

#include <string>
#include <vector>

namespace gpucontainer::cdi {

/// What a container with some devices gets, in the order of the devices: the edits of a
/// specification come once, before those of its first device. All places name their files.
struct Chosen {
    std::vector<std::string> devices; ///< "nvidia.com/gpu=0", each once.
    std::vector<Edits> edits;
};

/// The devices with these full names. Errors: usage, for a name that is none, that no file has, or
/// that two files of the same priority have; permission, if somebody else than root and the caller
/// can have written a file that is needed.
Result<Chosen> choose(const Listing& listing, const std::vector<std::string>& names);

} // namespace gpucontainer::cdi
