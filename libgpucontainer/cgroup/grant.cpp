// SPDX-License-Identifier: MIT
#include "cgroup/grant.hpp"

#include "base/format.hpp"
#include "cgroup/group_program.hpp"

#include <utility>

namespace gpucontainer::cgroup {

Error Grant::take_back(Error because)
{
    for (auto at = programs.rbegin(); at != programs.rend(); ++at)
        if (!replace_program(at->group, at->after.get(), at->name, at->before.get()))
            because = std::move(because).context(base::format(
                "program {} of cgroup {} could not be put back", at->name, at->group.path()));
    for (auto at = rules.rbegin(); at != rules.rend(); ++at)
        if (!listed->deny(at->device, at->access))
            because = std::move(because).context(base::format(
                "{} stays allowed in cgroup {}", to_text(at->device, at->access), listed->path()));
    programs.clear();
    rules.clear();
    return because;
}

} // namespace gpucontainer::cgroup
