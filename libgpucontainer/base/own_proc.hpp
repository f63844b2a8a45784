// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "syscall/proc.hpp"

namespace gpucontainer::base {

/// The root of /proc, where that is the kernel's, opened with O_PATH. Fails with
/// Errc::requirement.
Result<UniqueFd> open_proc();

using syscall::open_in_proc;

/// The calling thread's directory of descriptors, as the kernel's own /proc shows it, opened
/// with O_PATH. Whoever mounts something over it, or over /proc, would otherwise decide
/// what the names in it lead to. Fails with Errc::requirement.
Result<UniqueFd> open_own_descriptors();

} // namespace gpucontainer::base
