// SPDX-License-Identifier: MIT
#include "vendor/vendor.hpp"

#include "vendor/nvidia/kernel.hpp"
#include "vendor/nvidia/nvidia.hpp"

#include <array>

namespace gpucontainer::vendor {

std::span<const Vendor> vendors()
{
    static constexpr std::array all = {
        Vendor{"nvidia", "NVIDIA", nvidia::kernel_places, nvidia::detect, nvidia::module_version}};
    return all;
}

} // namespace gpucontainer::vendor
