// SPDX-License-Identifier: MIT
#pragma once

#include "process/descriptor.hpp"

#include <cstdint>

namespace gpuctr_setup {

/// The number that the mount table has for the mount that a file is on; 0 when nothing
/// tells. Before Linux 5.8 that is /proc.
std::uint64_t mount_number(const Fd& fd);

} // namespace gpuctr_setup
