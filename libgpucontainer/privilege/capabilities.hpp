// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>

namespace gpucontainer::privilege {

/// Fails with Errc::permission if this process may not mount in its user namespace. Call it before
/// mounting, so that the message names the missing privilege and not a failed system call.
Result<void> require_mounting();

/// The same for loading kernel modules, and for making a node on the host: both need a capability
/// in the initial user namespace. `what` is what would be loaded or made, for the message.
Result<void> require_loading_modules(const std::string& what);
Result<void> require_making_nodes(const std::string& what);

/// Whether this process may make device nodes: in the initial user namespace, with CAP_MKNOD. A
/// device cgroup may forbid it all the same.
bool may_make_nodes();

} // namespace gpucontainer::privilege
