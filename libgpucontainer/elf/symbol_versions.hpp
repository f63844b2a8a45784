// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "elf/symbols.hpp"

#include <string>
#include <string_view>
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

/// Names of the dynamic symbols that are of one version, which the file has or needs; none without
/// section headers. Fails like read_symbols().
Result<Symbols> read_symbols_of_version(int fd, std::string_view version);

} // namespace gpucontainer::elf
