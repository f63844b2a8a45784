// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "privilege/file_owner.hpp"

#include <optional>

namespace gpucontainer::privilege {

/// Root of the user namespace that a process is in, as the calling thread's user namespace
/// numbers it; none where the thread is that root itself, in the same one. Errors: rootfs when the
/// process has ended, or its user namespace has no root that this one knows; usage for what is no
/// pidfd; permission; requirement for a /proc that is not the kernel's.
Result<std::optional<Owner>> root_of(int pidfd);

} // namespace gpucontainer::privilege
