// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "syscall/proc.hpp"

namespace gpucontainer::base {

/// Opens /proc with O_PATH. Fails with Errc::requirement if it is not the kernel's procfs.
Result<UniqueFd> open_proc();

using syscall::open_in_proc;

/// Opens /proc/thread-self/fd with O_PATH. Fails with Errc::requirement if it is not the kernel's:
/// somebody who mounts something over it, or over /proc, decides where its names lead.
Result<UniqueFd> open_own_descriptors();

} // namespace gpucontainer::base
