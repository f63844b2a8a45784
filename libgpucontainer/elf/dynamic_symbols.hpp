// SPDX-License-Identifier: MIT
#pragma once

#include "base/open_file.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace gpucontainer::elf {

/// A symbol by which files are linked to each other.
struct DynamicSymbol {
    enum class Kind : std::uint8_t {
        defined,
        wanted,      ///< Another file must have it.
        wanted_weak, ///< Another file may have it.
    };

    std::string_view name; ///< Only as long as the call lasts.
    Kind kind = Kind::defined;
};

/// Files with more symbols than this, or longer names in all, are not read.
inline constexpr std::size_t most_dynamic_symbols = 200'000;
inline constexpr std::size_t largest_dynamic_names = std::size_t{32} << 20U;

/// Calls `visit` for each dynamic symbol that is not local to the file, which is borrowed. The
/// dynamic section leads to them, so that a file without section headers has them too; none if it
/// has no hash table. Errors: driver, if the file is damaged, too large or of another byte order.
Result<void> visit_dynamic_symbols(base::FileRef of,
                                   const std::function<void(const DynamicSymbol&)>& visit);
/// Also takes the size of its tables off `budget`, and does not read a file with larger ones.
Result<void> visit_dynamic_symbols(base::FileRef of,
                                   const std::function<void(const DynamicSymbol&)>& visit,
                                   std::size_t& budget);

} // namespace gpucontainer::elf
