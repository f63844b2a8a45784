// SPDX-License-Identifier: MIT
#pragma once

#include "config/maker.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// What the kernel tells about a node that a description names.
struct NodeFacts {
    unsigned major = 0;
    const host::ClassDevice* device = nullptr; ///< Null if sysfs has no such device.
    std::string_view driver_name;              ///< In /proc/devices; used without a device.
    bool is_for_all = false;                   ///< It is described as a node for all GPUs.
};

/// Why a node is not the maker's, or is described for all GPUs but belongs to one; "" if it is the
/// maker's. A node is recognised by the kernel driver or the GPU of its device. A node with neither
/// is the maker's if the kernel gives its major number to one driver only, or if its name begins
/// with the same word as the kernel driver's.
std::string obstacle_to_node(const config::Maker& maker, const std::vector<model::Gpu>& gpus,
                             const NodeFacts& node);

} // namespace gpucontainer::drivers
