// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/vendor.hpp"

#include <array>
#include <optional>
#include <string>

namespace gpucontainer::vendor::nvidia {

/// The inode of a module's directory in sysfs is that of one loading of it.
inline constexpr std::array kernel_places = {
    KernelPlace{"/proc/driver/nvidia/version", KernelPlace::How::content},
    KernelPlace{"/proc/driver/nvidia/gpus", KernelPlace::How::names},
    KernelPlace{"/sys/module/nvidia", KernelPlace::How::inode},
    KernelPlace{"/sys/module/nvidia_uvm", KernelPlace::How::inode},
};

/// Version of the kernel's part of whichever driver there is; none where there is none.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

/// What each of NVIDIA's drivers has in common.
DriverStack new_stack(const Sources& sources);

/// NVIDIA's GPUs from PCI and /proc/driver/nvidia, the files of their driver
/// and its nodes. Nothing of the driver is loaded or executed.
Result<std::optional<DriverStack>> detect(const Sources& sources);

} // namespace gpucontainer::vendor::nvidia
