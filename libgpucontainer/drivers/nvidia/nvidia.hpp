// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/nvidia/tegra_files.hpp"
#include "drivers/vendor.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// A module's directory in sysfs gets another inode each time the module is loaded.
inline constexpr std::array kernel_places = {
    KernelPlace{"/proc/driver/nvidia/version", KernelPlace::How::content},
    KernelPlace{"/proc/driver/nvidia/gpus", KernelPlace::How::names},
    KernelPlace{"/proc/driver/nvidia/capabilities", KernelPlace::How::tree},
    KernelPlace{"/sys/module/nvidia", KernelPlace::How::inode},
    KernelPlace{"/sys/module/nvidia_uvm", KernelPlace::How::inode},
    KernelPlace{"/sys/module/nvgpu", KernelPlace::How::inode},
};

inline constexpr std::array<std::string_view, 2> variable_names = {"NVIDIA_VISIBLE_DEVICES",
                                                                   "CUDA_VISIBLE_DEVICES"};

inline constexpr std::array<std::string_view, 1> counting_variables = {"CUDA_DEVICE_ORDER"};

/// What NVIDIA's container toolkit reads. NVIDIA_REQUIRE_JETPACK and the like are words about
/// files.
inline constexpr ContainerNames container_names = {"NVIDIA_VISIBLE_DEVICES",
                                                   "/var/run/nvidia-container-devices",
                                                   "NVIDIA_DRIVER_CAPABILITIES",
                                                   "NVIDIA_REQUIRE_",
                                                   "NVIDIA_REQUIRE_JETPACK",
                                                   "NVIDIA_DISABLE_REQUIRE",
                                                   "NVIDIA_IMEX_CHANNELS",
                                                   "CUDA_VERSION",
                                                   "NVIDIA_"};

/// An application profile that tells EGL and Vulkan which GPUs there are. "{gpus}" stands for a
/// number, as in model::Registration.
inline constexpr const char* profile_path =
    "/etc/nvidia/nvidia-application-profiles-rc.d/10-gpuctr.conf";
inline constexpr const char* profile =
    R"({"profiles": [{"name": "gpuctr", "settings": ["EGLVisibleDGPUDevices", {gpus}]}],)"
    "\n"
    R"( "rules": [{"pattern": [], "profile": "gpuctr"}]})"
    "\n";

/// Root places of a Tegra's user space.
inline constexpr std::array<std::string_view, 2> root_places = {tegra_lists, tegra_release};

/// Directories in which nvidia-smi and the libraries of CUDA make nodes.
inline constexpr std::array<std::string_view, 3> node_directories = {
    "/dev", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels"};

/// NVIDIA's GPUs from PCI and /proc/driver/nvidia, with the files and nodes of their driver; or a
/// Tegra's own GPU, if it is the only one. Nothing of the driver is loaded or executed.
Result<std::optional<model::DriverStack>> detect(const Sources& sources);

/// Like Vendor::files_alone(), except for files of a Tegra or of Windows.
Result<model::DriverStack> files_alone(const Sources& sources);

/// Version of the kernel driver; none if it is not loaded.
Result<std::optional<std::string>> loaded_version(const std::string& system_root);

} // namespace gpucontainer::drivers::nvidia
