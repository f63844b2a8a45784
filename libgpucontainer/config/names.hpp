// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// Names that are allowed in the files that this module reads.
namespace gpucontainer::config {

/// What a file or node may be needed for. `none` means for a file that no container gets it, for a
/// node that every container needs it.
inline constexpr std::array<std::string_view, 9> capability_names = {
    "none", "compute", "utility", "graphics", "video", "display", "ngx", "firmware", "compat32"};

/// How programs may find a library by a JSON manifest that names it.
inline constexpr std::array<std::string_view, 5> manifest_manners = {
    "egl_vendor", "egl_platform", "vulkan_icd", "vulkan_layer", "vulkansc_icd"};

/// Whether it is a path component of letters, digits and "._+-", without a leading dot.
bool is_file_name(std::string_view name);

/// Whether it is a vendor's name, such as "nvidia": at most 32 small letters, digits and '-', a
/// letter first. "any" stands for all vendors and is not a name.
bool is_vendor_name(std::string_view name);

} // namespace gpucontainer::config
