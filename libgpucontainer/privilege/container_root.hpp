// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "privilege/file_owner.hpp"

#include <optional>

namespace gpucontainer::privilege {

/// Ids of root (id 0) of a process's user namespace, in the calling thread's user namespace. None
/// if the thread is that root in the same user namespace. Errors: rootfs if the process has ended,
/// or if the thread's user namespace has no id for that root; usage if it is not a pidfd;
/// permission; requirement if /proc is not the kernel's.
Result<std::optional<Owner>> root_of(int pidfd);

} // namespace gpucontainer::privilege
