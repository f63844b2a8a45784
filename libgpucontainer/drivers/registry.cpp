// SPDX-License-Identifier: MIT
#include "drivers/registry.hpp"

#include "drivers/amd/amd.hpp"
#include "drivers/amd/kernel.hpp"
#include "drivers/habana/habana.hpp"
#include "drivers/intel/intel.hpp"
#include "drivers/nvidia/nvidia.hpp"

#include <algorithm>
#include <array>

namespace gpucontainer::drivers {

std::span<const Vendor> vendors()
{
    static constexpr std::array all = {
        Vendor{"nvidia", "NVIDIA", "nvidia.com/gpu", true, true, nvidia::kernel_places,
               nvidia::detect, nvidia::files_alone, nvidia::loaded_version, nvidia::root_places,
               nvidia::node_directories, "nvidia"},
        Vendor{"amd", "AMD", "amd.com/gpu", false, false, amd::kernel_places, amd::detect,
               amd::files_alone, amd::loaded_version},
        Vendor{"intel", "Intel", "intel.com/gpu", false, false, intel::kernel_places, intel::detect,
               intel::files_alone, intel::loaded_version},
        Vendor{"habana", "Intel Gaudi", "intel.com/gaudi", false, false, habana::kernel_places,
               habana::detect, habana::files_alone, habana::loaded_version},
    };
    return all;
}

const Vendor* find_vendor(std::string_view name)
{
    const auto found = std::ranges::find(vendors(), name, &Vendor::name);
    return found == vendors().end() ? nullptr : &*found;
}

} // namespace gpucontainer::drivers
