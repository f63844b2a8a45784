// SPDX-License-Identifier: MIT
#pragma once

#include "config/maker.hpp"
#include "host/enumerator.hpp"
#include "model/driver.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers {

/// What the kernel tells of a node that a description names.
struct NodeFacts {
    unsigned major = 0;
    const host::ClassDevice* device = nullptr; ///< None where sysfs has no such device.
    std::string_view driver_name;              ///< In /proc/devices; where there is no device.
    bool is_for_all = false;                   ///< No node of one GPU.
};

/// Why a node is none of the maker's, or of one of its GPUs alone; empty where it is the
/// maker's. It is known by the kernel driver or the GPU that its device is of. What is of
/// neither is the maker's if the kernel hands out such major numbers to one driver each, or
/// if its name begins with the word that the kernel driver's begins with.
std::string obstacle_to_node(const config::Maker& maker, const std::vector<model::Gpu>& gpus,
                             const NodeFacts& node);

} // namespace gpucontainer::drivers
