// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// A row of the lists in which a Jetson's packages say what containers need.
struct TegraRow {
    enum class Kind : std::uint8_t { device, directory, library, link };

    Kind kind;
    std::string path; ///< Absolute, without "." and ".."; may have "*" and "?".
    std::size_t line; ///< From 1.

    bool operator==(const TegraRow&) const = default;
};

/// An error in a row.
struct TegraComplaint {
    std::size_t line;
    std::string reason;
};

struct TegraRows {
    std::vector<TegraRow> rows;
    std::vector<TegraComplaint> complaints;
};

/// Reads rows of the form "TYPE, PATH", where TYPE is dev, dir, lib or sym. Blanks, empty lines and
/// lines that begin with "#" are ignored. The path of a node may lack "/dev/". A row that cannot be
/// read is left out; the others count.
TegraRows parse_tegra_csv(std::string_view text);

} // namespace gpucontainer::drivers::nvidia
