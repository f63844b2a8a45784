// SPDX-License-Identifier: MIT
#include "cgroup/levels.hpp"

#include "base/try.hpp"
#include "cgroup/evaluation.hpp"

#include <linux/bpf.h>
#include <string>
#include <utility>

namespace gpucontainer::cgroup {

Result<std::vector<Level>> levels_of(const Group& group)
{
    std::vector<Level> levels;
    for (auto at = group.again(); at;) {
        GPUCTR_TRY(auto programs, programs_of(*at));
        auto above = at->above();
        // Of a group that lets those below decide, programs count only if there are none below.
        if (!programs.all.empty() && (levels.empty() || programs.among_others))
            levels.push_back({*std::move(at), std::move(programs)});
        at = std::move(above);
    }
    return levels;
}

std::optional<bool> allows(const GroupProgram& program, const DeviceNumber& device)
{
    constexpr unsigned above_type = 16;
    return evaluate(program.instructions,
                    {(BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE) << above_type | BPF_DEVCG_DEV_CHAR,
                     device.major, device.minor});
}

bool is_scope_of(const Group& group, const Group& own)
{
    const std::string& path = own.path();
    return group.path().ends_with(".scope") && path.substr(0, path.rfind('/')) == group.path()
           && group.holds_one_group_alone();
}

std::string forbidding_group(const Group& group, const DeviceNumber& device)
{
    const auto levels = levels_of(group);
    if (levels)
        for (const Level& level : *levels)
            for (const GroupProgram& program : level.programs.all)
                if (!allows(program, device).value_or(true))
                    return level.group.path();
    return group.path();
}

} // namespace gpucontainer::cgroup
