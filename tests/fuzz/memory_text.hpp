// SPDX-License-Identifier: MIT
#pragma once

#include "fuzz/fuzz.hpp"

#include <string_view>
#include <sys/types.h>
#include <unistd.h>

namespace gpucontainer::fuzz {

/// Makes a file hold this text and nothing else.
inline void fill(int fd, std::string_view content)
{
    const bool filled =
        ::ftruncate(fd, 0) == 0
        && ::pwrite(fd, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
    demand(filled, "a file in memory can be written");
}

} // namespace gpucontainer::fuzz
