// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/device_program.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::imports {

/// The rules that an OCI runtime makes of its configuration for the container's device cgroup:
/// those of "linux.resources.devices", and what every container may use. Errors: usage.
Result<std::vector<cgroup::OrderedRule>> read_device_rules(std::string_view configuration);

/// The same of config.json in a bundle, if that is of the container with this root directory.
/// Errors: usage, also if the container itself could have written it; permission, if others could.
Result<std::vector<cgroup::OrderedRule>> device_rules_of_bundle(const std::string& bundle,
                                                                int rootfs_fd);

} // namespace gpucontainer::imports
