// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "elf/machine.hpp"
#include "rootfs/view.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpucontainer::rootfs {

/// Where a root file system has its libraries.
struct Layout {
    std::string loader;            ///< "/lib64/ld-linux-x86-64.so.2"
    std::string library_directory; ///< The loader's default directory, in which links are made.
    /// Directories that programs usually search, in which an image may have a driver of its own;
    /// each once.
    std::vector<std::string> searched_directories;
};

/// Fails with Errc::rootfs if the root has not the machine's programs and C library. `further`:
/// more directories that programs search.
Result<Layout> find_layout(const View& view, const elf::Machine& machine,
                           std::span<const std::string> further = {});

/// Where the root has libraries for 32-bit programs of the machine, one of elf::compat32_of(); none
/// if it cannot run these.
std::optional<Layout> find_compat32_layout(const View& view, const elf::Machine& machine);

/// The library directories of a machine, in the order of preference.
std::vector<std::string> library_directories(const elf::Machine& machine);

} // namespace gpucontainer::rootfs
