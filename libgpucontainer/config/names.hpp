// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// What things may be called in the files that this module reads.
namespace gpucontainer::config {

/// What a file or node may be needed for. `none`, of a file: known, and never wanted in a
/// container; of a node: needed for each.
inline constexpr std::array<std::string_view, 7> capability_names = {
    "none", "compute", "utility", "graphics", "video", "display", "ngx"};

/// A component of a path: letters, digits and "._+-", no leading dot.
bool is_file_name(std::string_view name);

/// "nvidia": small letters, digits and '-', at most 32 and a letter first. "any" is no
/// vendor's: it stands for all of them.
bool is_vendor_name(std::string_view name);

} // namespace gpucontainer::config
