// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// One row of the lists that a Jetson's packages keep of what containers need.
struct TegraRow {
    enum class Kind : std::uint8_t { device, directory, library, link };

    Kind kind;
    std::string path; ///< Absolute, without "." and ".."; may hold "*" and "?".
    std::size_t line; ///< From 1.

    bool operator==(const TegraRow&) const = default;
};

/// A row that is none.
struct TegraComplaint {
    std::size_t line;
    std::string reason;
};

struct TegraRows {
    std::vector<TegraRow> rows;
    std::vector<TegraComplaint> complaints;
};

/// Reads rows of the form "TYPE, PATH" with dev, dir, lib or sym for TYPE; blanks, empty
/// lines and those that begin with "#" do not count. The path of a node may leave out
/// "/dev/". A row that cannot be read costs nothing but itself.
TegraRows parse_tegra_csv(std::string_view text);

} // namespace gpucontainer::drivers::nvidia
