// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "import/wishes.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::imports {

/// What an OCI runtime tells a hook, with what the configuration of the container's bundle says.
struct HookState {
    int pid = 0; ///< The container's process, in a PID namespace of the runtime's choice; 0: none.
    std::string bundle; ///< Absolute path of its bundle; "" if there is none yet.
    std::string rootfs; ///< Absolute path of its root directory on the host.
    /// NAME=VALUE, sorted, of those of its environment that count for a plan.
    std::vector<std::string> variables;
    std::vector<std::string> vendors; ///< Those whose GPUs or files it asks for.
    bool names_gpus = false;          ///< As in Wishes, like the next.
    std::vector<std::string> refused;
    /// Why its configuration is not understood; "" if it is. The rest is of what is understood.
    std::string fault;
};

/// Reads the state that a hook gets on its standard input, and config.json of the bundle that it
/// names. Both may be hostile. Errors: usage, for a state that is none, and a file that is none.
Result<HookState> read_hook_state(std::string_view text, AcceptedWishes accepted);

/// The same from the configuration alone, as an engine gives it to a hook before there is a
/// bundle. It names no process; its root directory may be relative or missing.
HookState read_hook_config(std::string_view text, AcceptedWishes accepted);

} // namespace gpucontainer::imports
