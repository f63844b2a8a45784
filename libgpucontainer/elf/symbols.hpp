// SPDX-License-Identifier: MIT
#pragma once

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

/// Those of an ELF file that begin with `prefix`; none where it says too little of itself
/// to tell, as without section headers. Errors: driver, where the file is
/// damaged or has too many symbols; its text says what is wrong.
Result<Symbols> read_symbols(int fd, std::string_view prefix);

} // namespace gpucontainer::elf
