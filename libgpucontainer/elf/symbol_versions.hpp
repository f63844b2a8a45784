// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
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

/// The versions that the regular file `file` needs to be loaded, in the order of the file.
/// Fails like read_facts(), and for a file of another byte order.
Result<std::vector<NeededVersion>> read_needed_versions(base::FileRef file);

/// The versions that the library `file` defines, including its own name.
Result<std::vector<std::string>> read_defined_versions(base::FileRef file);

/// Names of the dynamic symbols that are of one version, which the file has or needs; none without
/// section headers. Fails like read_symbols().
Result<Symbols> read_symbols_of_version(base::FileRef file, std::string_view version);

} // namespace gpucontainer::elf
