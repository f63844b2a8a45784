// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <array>
#include <string_view>

namespace gpucontainer::drivers::habana {

inline constexpr std::array kernel_places = {
    KernelPlace{"/sys/class/accel", KernelPlace::How::names},
    KernelPlace{"/sys/class/habanalabs", KernelPlace::How::names},
    KernelPlace{"/sys/class/infiniband_verbs", KernelPlace::How::names},
    KernelPlace{"/sys/module/habanalabs", KernelPlace::How::inode},
};

inline constexpr std::array<std::string_view, 3> variable_names = {
    "HABANA_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES", "HLS_MODULE_ID"};

/// Version of the loaded kernel module; none if it is not loaded.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// Intel's Gaudi accelerators and their nodes: the accelerators that habanalabs drives.
Result<std::optional<model::DriverStack>> detect(const Sources& sources);

/// Like Vendor::files_alone().
Result<model::DriverStack> files_alone(const Sources& sources);

} // namespace gpucontainer::drivers::habana
