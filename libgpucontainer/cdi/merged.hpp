// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/chosen.hpp"
#include "cdi/hook_task.hpp"

#include <vector>

namespace gpucontainer::cdi {

/// Which hooks somebody else is to run, because they stay in a runtime's configuration.
enum class KeptHooks : std::uint8_t { none, unknown, all };

struct Task {
    HookTask what;
    Place place;
};

/// What a container gets, as one. The paths in it are absolute and have no "..".
struct Merged {
    std::vector<std::string> devices;
    /// With the hooks that are kept. Nodes have type and number, and a path on the host.
    Edits edits;
    std::vector<Task> tasks; ///< What the other hooks are for.
};

/// Merges edits as the library for Go does: of two variables, nodes or mounts of the same name the
/// last counts, and mounts come in the order of their depth. Errors: usage, for a hook that is not
/// known and not kept, and a path that may lead elsewhere; driver, for a device node that is not
/// the one of this host.
Result<Merged> merge(const Chosen& chosen, KeptHooks kept, const TaskOf& task_of);

} // namespace gpucontainer::cdi
