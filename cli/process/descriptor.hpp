// SPDX-License-Identifier: MIT
#pragma once

#include "syscall/unique_fd.hpp"

namespace gpuctr_cli {

using Fd = gpucontainer::syscall::UniqueFd;

} // namespace gpuctr_cli
