// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "rootfs/view.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::rootfs {

/// How a root file system arranges its libraries.
struct Layout {
    std::string loader;            ///< "/lib64/ld-linux-x86-64.so.2"
    std::string library_directory; ///< The loader's default one, where links are put.
    /// Directories that programs search by habit and in which an image may keep
    /// a copy of the driver of its own; each directory once.
    std::vector<std::string> searched_directories;
};

/// Fails with Errc::rootfs when programs of this machine's kind and C library
/// cannot run in the root. `further`: directories beside the C library's that count
/// among those that are searched.
Result<Layout> find_layout(const View& view, std::span<const std::string> further = {});

/// The loader that a program of this machine names, and its library directories
/// in the order of preference.
struct Machine {
    std::string loader;
    std::vector<std::string> library_directories;
};
const Machine& native_machine();

} // namespace gpucontainer::rootfs
