// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <vector>

namespace gpucontainer::elf {

/// A symbol version that a file needs from a library.
struct NeededVersion {
    std::string library; ///< As in Facts::needed.
    std::string version; ///< "GLIBC_2.34"

    bool operator==(const NeededVersion&) const = default;
};

/// The versions that the regular file behind `fd` needs to be loaded, in the order of the file.
/// Fails like read_facts(), and for a file of another byte order.
Result<std::vector<NeededVersion>> read_needed_versions(int fd);

/// The versions that the library behind `fd` defines, including its own name.
Result<std::vector<std::string>> read_defined_versions(int fd);

} // namespace gpucontainer::elf
