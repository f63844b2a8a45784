// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace gpucontainer::loading {

/// Where modules and their configuration are; empty: the usual places of this system.
struct ModulePlaces {
    std::string modules; ///< "/lib/modules/6.1.0-18-amd64"
    std::vector<std::string> configuration;
};

/// Loads kernel modules by the names that modprobe knows, in their order, with all that they depend
/// on. It follows modprobe's configuration, but starts no process: an install command that calls
/// modprobe alone is followed, and any other is an error. A module that is loaded already is none.
/// libkmod is loaded for the call, because a program that links it starts 1.5 ms later. Errors:
/// requirement, if there is no libkmod; no_device, if a module is not there or the kernel does not
/// take it; permission.
Result<void> load_modules(const std::vector<std::string>& names, const ModulePlaces& places);

} // namespace gpucontainer::loading
