// SPDX-License-Identifier: MIT
#pragma once

#include "front/arguments.hpp"

#include <string>
#include <vector>

namespace gpuctr_cli {

/// The same call in the options of `gpuctr-setup list`: where the driver is.
std::vector<std::string> host_words(const FrontArguments& arguments);

/// The same call in the options of `gpuctr-setup hook`: which GPUs, files and rights. Throws
/// gpucontainer::Error: usage.
std::vector<std::string> request_words(const FrontArguments& arguments);

/// The GPUs, as --device of gpuctr-setup has them: "none" if none are named. All are those that
/// this caller may use, as with NVIDIA's library in a device cgroup.
std::string device_words(const FrontArguments& arguments);

/// Numbers of channels, or "all", each by itself.
std::vector<std::string> channels_of(const FrontArguments& arguments);

} // namespace gpuctr_cli
