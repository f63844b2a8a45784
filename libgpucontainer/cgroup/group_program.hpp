// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/device_program.hpp"
#include "cgroup/group.hpp"

#include <span>

namespace gpucontainer::cgroup {

/// Whether programs at the group itself decide about devices. Errors: requirement, permission.
Result<bool> has_program(const Group& group);

/// Puts a program of these rules in the place of the group's one, at once: a program that is added
/// never allows what another one forbids, and a loaded one cannot be changed. Errors: permission,
/// without CAP_SYS_ADMIN in the initial user namespace; requirement if there is not just one
/// program, or its owner allows no other in its place.
Result<void> replace_program(const Group& group, std::span<const OrderedRule> rules);

} // namespace gpucontainer::cgroup
