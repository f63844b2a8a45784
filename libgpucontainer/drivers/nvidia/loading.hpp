// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/nvidia/kernel.hpp"
#include "drivers/vendor.hpp"

#include <array>

namespace gpucontainer::drivers::nvidia {

/// Debian has other names for their files, which the configuration of modprobe tells.
inline constexpr std::array modules = {KernelModule{"nvidia"}, KernelModule{"nvidia-uvm"},
                                       KernelModule{"nvidia-modeset", true}};
inline constexpr Loading loading = {pci_vendor, modules, host_nodes};

} // namespace gpucontainer::drivers::nvidia
