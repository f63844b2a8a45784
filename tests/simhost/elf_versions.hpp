// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::simhost {

/// An ELF string table under construction.
class StringTable {
public:
    /// Offset at which `text` begins.
    std::uint32_t add(std::string_view text);
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_ = std::string(1, '\0');
};

/// Content for DT_VERNEED and the number of its files for DT_VERNEEDNUM.
struct VersionNeeds {
    std::string bytes;
    std::size_t files = 0;
};

/// Says that `versions` are needed of those of `needed` that define them. Without
/// `strict`, those that this program's C library may lack are weak.
VersionNeeds make_version_needs(const std::vector<std::string>& needed,
                                const std::vector<std::string>& versions, bool strict,
                                StringTable& strings);

/// Content for DT_VERDEF: a library has these versions.
std::string make_version_definitions(const std::vector<std::string>& versions,
                                     StringTable& strings);

} // namespace gpucontainer::simhost
