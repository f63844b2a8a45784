// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpucontainer::privilege {

/// Permission bits and owner of a file.
struct Permissions {
    std::uint32_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

/// Whether a program with raised privileges was started by somebody whom these permissions let read
/// and write, or read if they let nobody write. True for any other program: the kernel can be asked
/// about it.
bool starter_may_use(const Permissions& file);

} // namespace gpucontainer::privilege
