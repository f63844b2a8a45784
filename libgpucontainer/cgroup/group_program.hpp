// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "cgroup/device_program.hpp"
#include "cgroup/group.hpp"

#include <linux/bpf.h>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::cgroup {

/// A program at a group that decides about devices.
struct GroupProgram {
    base::UniqueFd fd;
    std::string name;                   ///< With its number, as bpftool shows them.
    std::vector<bpf_insn> instructions; ///< None if they cannot be read.
};

struct GroupPrograms {
    std::vector<GroupProgram> all;
    /// Whether they count beside those of groups below, and their owner allows others.
    bool among_others = false;
};

/// Errors: requirement, permission.
Result<GroupPrograms> programs_of(const Group& group);

/// Loads a program of these rules for the group. Errors: permission, without CAP_SYS_ADMIN in the
/// initial user namespace; requirement, if the kernel takes no so many.
Result<base::UniqueFd> load_program(const Group& group, std::span<const OrderedRule> rules);

/// Puts a program in the place of another one at once: a program that is added never allows what
/// another one forbids, and a loaded one cannot be changed. Errors: permission; requirement if the
/// other one, which `name` is of, cannot be replaced.
Result<void> replace_program(const Group& group, int other, const std::string& name, int anew);

/// The error of a group whose programs have to stay.
Error not_replaceable(const Group& group, const std::string& why);

} // namespace gpucontainer::cgroup
