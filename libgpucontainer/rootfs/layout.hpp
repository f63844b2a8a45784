// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "rootfs/view.hpp"

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

/// Fails with Errc::rootfs if programs for this machine and C library cannot run in the root.
/// `further`: more directories that programs search.
Result<Layout> find_layout(const View& view, std::span<const std::string> further = {});

/// The loader of programs for this machine, and its library directories in the order of
/// preference.
struct Machine {
    std::string loader;
    std::vector<std::string> library_directories;
};
const Machine& native_machine();

} // namespace gpucontainer::rootfs
