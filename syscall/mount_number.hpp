// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::syscall {

/// The number that the mount table has for the mount that `fd` is on: by statx or,
/// before Linux 5.8, by what /proc tells of the descriptor. False when nothing tells.
/// Allocates nothing.
bool mount_number(int fd, std::uint64_t& number) noexcept;

} // namespace gpucontainer::syscall
