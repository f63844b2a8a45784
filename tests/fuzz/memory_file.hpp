// SPDX-License-Identifier: MIT
#pragma once

#include "base/unique_fd.hpp"
#include "fuzz/memory_text.hpp"

#include <string_view>
#include <sys/mman.h>

namespace gpucontainer::fuzz {

/// An unnamed regular file with `content`.
inline base::UniqueFd memory_file(std::string_view content)
{
    base::UniqueFd fd(::memfd_create("fuzz", MFD_CLOEXEC));
    fill(fd.get(), content);
    return fd;
}

} // namespace gpucontainer::fuzz
