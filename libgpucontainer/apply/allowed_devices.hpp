// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/device_program.hpp"
#include "plan/plan.hpp"

#include <optional>
#include <vector>

namespace gpucontainer::apply {

/// Lets a container use the plan's device nodes, by the device cgroup of a process of it. `rules`
/// are those that its runtime made the group with; none: they are not known, which is an error only
/// if a program forbids a device. A group that is the caller's own is left alone. After an error
/// all is as it was. Errors: permission, also if a group above forbids a device that holds more
/// than this container; requirement; rootfs if the process has ended.
Result<void> allow_devices(const plan::Plan& plan, int pidfd,
                           const std::optional<std::vector<cgroup::OrderedRule>>& rules);

} // namespace gpucontainer::apply
