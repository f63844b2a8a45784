// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::syscall {

/// The number of the mount that `fd` is on, as in the mount table. It comes from statx or, before
/// Linux 5.8, from /proc. False if it is unknown. Allocates nothing.
bool mount_number(int fd, std::uint64_t& number) noexcept;

} // namespace gpucontainer::syscall
