// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "fuzz/fuzz.hpp"

#include <string_view>
#include <sys/mman.h>
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

/// An unnamed regular file with `content`.
inline base::UniqueFd memory_file(std::string_view content)
{
    base::UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
    fill(fd.get(), content);
    return fd;
}

} // namespace gpucontainer::fuzz
