// SPDX-License-Identifier: MIT
#include "vendor/vendor.hpp"

#include "vendor/amd/amd.hpp"
#include "vendor/amd/kernel.hpp"
#include "vendor/habana/habana.hpp"
#include "vendor/intel/intel.hpp"
#include "vendor/nvidia/nvidia.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::vendor {

std::span<const Vendor> vendors()
{
    static constexpr std::array all = {
        Vendor{"nvidia", "NVIDIA", "nvidia.com/gpu", 1U << 0U, true, true, nvidia::kernel_places,
               nvidia::detect, nvidia::files_alone, nvidia::loaded_version, nvidia::root_places,
               nvidia::node_directories, "nvidia"},
        Vendor{"amd", "AMD", "amd.com/gpu", 1U << 1U, false, false, amd::kernel_places, amd::detect,
               amd::files_alone, amd::loaded_version},
        Vendor{"intel", "Intel", "intel.com/gpu", 1U << 2U, false, false, intel::kernel_places,
               intel::detect, intel::files_alone, intel::loaded_version},
        Vendor{"habana", "Intel Gaudi", "intel.com/gaudi", 1U << 3U, false, false,
               habana::kernel_places, habana::detect, habana::files_alone, habana::loaded_version},
    };
    return all;
}

const Vendor* find_vendor(std::string_view name)
{
    const auto found = std::ranges::find(vendors(), name, &Vendor::name);
    return found == vendors().end() ? nullptr : &*found;
}

} // namespace gpucontainer::vendor
