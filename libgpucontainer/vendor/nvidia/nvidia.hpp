// SPDX-License-Identifier: MIT
#pragma once

#include "vendor/vendor.hpp"

#include <array>

namespace gpucontainer::vendor::nvidia {

/// The inode of a module's directory in sysfs is that of one loading of it.
inline constexpr std::array kernel_places = {
    KernelPlace{"/proc/driver/nvidia/version", KernelPlace::How::content},
    KernelPlace{"/proc/driver/nvidia/gpus", KernelPlace::How::names},
    KernelPlace{"/sys/module/nvidia", KernelPlace::How::inode},
    KernelPlace{"/sys/module/nvidia_uvm", KernelPlace::How::inode},
};

/// NVIDIA's GPUs from PCI and /proc/driver/nvidia, the files of their driver
/// and its nodes. Nothing of the driver is loaded or executed.
Result<std::optional<DriverStack>> detect(const Sources& sources);

} // namespace gpucontainer::vendor::nvidia
