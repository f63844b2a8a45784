// SPDX-License-Identifier: MIT
#pragma once

#include "syscall/fd_path.hpp"

namespace gpucontainer::mount {

using syscall::FdPath;

} // namespace gpucontainer::mount
