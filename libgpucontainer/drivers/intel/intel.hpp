// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <array>
#include <string_view>

namespace gpucontainer::drivers::intel {

inline constexpr std::array kernel_places = {
    KernelPlace{"/sys/class/drm", KernelPlace::How::names},
    KernelPlace{"/sys/module/i915", KernelPlace::How::inode},
    KernelPlace{"/sys/module/xe", KernelPlace::How::inode},
};

inline constexpr std::array<std::string_view, 1> variable_names = {"ZE_AFFINITY_MASK"};
inline constexpr std::array<std::string_view, 2> counting_variables = {
    "ZE_FLAT_DEVICE_HIERARCHY", "ZE_ENABLE_PCI_ID_DEVICE_ORDER"};

/// Version of the loaded kernel module, i915 or xe; none if neither is loaded.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// Intel's GPUs, integrated and discrete, that i915 or xe drives, and their nodes.
Result<std::optional<model::DriverStack>> detect(const Sources& sources);

/// Like Vendor::files_alone().
Result<model::DriverStack> files_alone(const Sources& sources);

} // namespace gpucontainer::drivers::intel
