// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cgroup/group_program.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gpucontainer::cgroup {

/// A group of version 2 whose programs decide for processes of another one: itself or one above.
struct Level {
    Group group;
    GroupPrograms programs;
};

/// The groups from this one up that have programs which count for it. All of them have to allow a
/// device. Errors: those of programs_of().
Result<std::vector<Level>> levels_of(const Group& group);

/// Whether the program allows to read and write it; none if that cannot be told.
std::optional<bool> allows(const GroupProgram& program, const DeviceNumber& device);

/// Whether systemd made the group for the processes of `own` alone, which is the one group in it.
bool is_scope_of(const Group& group, const Group& own);

/// Path of the group that forbids the device to processes of this one; this one's if that cannot
/// be told.
std::string forbidding_group(const Group& group, const DeviceNumber& device);

} // namespace gpucontainer::cgroup
