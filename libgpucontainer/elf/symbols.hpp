// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// Names of dynamic symbols, sorted.
struct Symbols {
    std::vector<std::string> defined;
    std::vector<std::string> undefined;
};

/// Names of an ELF file that begin with `prefix`; none if they cannot be found, as without section
/// headers. Errors: driver, if the file is damaged or has too many symbols; the text says what is
/// wrong.
Result<Symbols> read_symbols(base::FileRef file, std::string_view prefix);

} // namespace gpucontainer::elf
