// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <array>
#include <string_view>

namespace gpucontainer::drivers::amd {

/// The generation number rises when GPUs appear, disappear or are partitioned again.
inline constexpr std::array kernel_places = {
    KernelPlace{"/sys/module/amdgpu", KernelPlace::How::inode},
    KernelPlace{"/sys/module/amdgpu/version", KernelPlace::How::content},
    KernelPlace{"/sys/class/kfd/kfd/topology/generation_id", KernelPlace::How::content},
};

inline constexpr std::array<std::string_view, 5> variable_names = {
    "AMD_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HIP_VISIBLE_DEVICES"};

/// Version of the loaded kernel module; none if it is not loaded.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// AMD's GPUs and their nodes, from the topology of the kernel's compute driver (KFD), joined with
/// DRM and PCI.
Result<std::optional<model::DriverStack>> detect(const Sources& sources);

/// Like Vendor::files_alone().
Result<model::DriverStack> files_alone(const Sources& sources);

} // namespace gpucontainer::drivers::amd
