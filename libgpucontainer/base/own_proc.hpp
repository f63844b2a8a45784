// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace gpucontainer::base {

/// The root of /proc, where that is the kernel's, opened with O_PATH. Fails with
/// Errc::requirement.
Result<UniqueFd> open_proc();

/// Opens a file below it without going over to another mount on the way: EXDEV. Links of the
/// kernel's are not followed.
UniqueFd open_in_proc(int proc, const char* path, unsigned flags);

/// The calling thread's directory of descriptors, as the kernel's own /proc shows it, opened
/// with O_PATH. Whoever mounts something over it, or over /proc, would otherwise decide
/// what the names in it lead to. Fails with Errc::requirement.
Result<UniqueFd> open_own_descriptors();

} // namespace gpucontainer::base
