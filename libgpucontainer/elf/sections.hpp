// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpucontainer::elf {

/// A part of a file, which lies within it.
struct Section {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

/// Where a file has sections of these names. Only its headers are read. None without section
/// headers. Errors: driver, if the file is damaged, or has more of them than any real one.
Result<std::vector<Section>> find_sections(base::FileRef file,
                                           std::span<const std::string_view> names);

} // namespace gpucontainer::elf
