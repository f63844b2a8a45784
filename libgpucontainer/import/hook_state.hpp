// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::imports {

/// What an OCI runtime tells a hook, with what the configuration of the container's bundle says.
struct HookState {
    int pid = 0; ///< The container's process, in a PID namespace of the runtime's choice; 0: none.
    std::string rootfs;                 ///< Absolute path of its root directory on the host.
    std::vector<std::string> variables; ///< NAME=VALUE of its environment, sorted.
    std::vector<std::string> vendors;   ///< Those whose GPUs or files its environment asks for.
};

/// Reads the state that a hook gets on its standard input, and config.json of the bundle that it
/// names. Both may be hostile. Errors: usage.
Result<HookState> read_hook_state(std::string_view text);

/// The same from the configuration alone, as an engine gives it to a hook before there is a
/// bundle. It names no process; its root directory may be relative or missing.
Result<HookState> read_hook_config(std::string_view text);

} // namespace gpucontainer::imports
