// SPDX-License-Identifier: MIT
#pragma once

#include "syscall/unique_fd.hpp"

namespace gpucontainer::base {

using syscall::above_standard;
using syscall::UniqueFd;

} // namespace gpucontainer::base
