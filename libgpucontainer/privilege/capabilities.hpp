// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

namespace gpucontainer::privilege {

/// Fails with Errc::permission if this process may not mount in its user namespace. Call it before
/// mounting, so that the message names the missing privilege and not a failed system call.
Result<void> require_mounting();

/// Whether this process may make device nodes: in the initial user namespace, with CAP_MKNOD. A
/// device cgroup may forbid it all the same.
bool may_make_nodes();

} // namespace gpucontainer::privilege
