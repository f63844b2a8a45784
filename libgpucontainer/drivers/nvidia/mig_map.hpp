// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/nvidia/mig.hpp"
#include "model/driver.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::nvidia {

/// What `nvidia-smi -L` printed: the GPUs, and the instances of each in NVIDIA's order. The kernel
/// tells neither their UUIDs nor that order.
struct MigMap {
    struct Device {
        std::string profile; ///< "3g.20gb"; "1c.3g.20gb" if it shares its GPU instance.
        unsigned number = 0; ///< Its place in NVIDIA's order.
        std::string uuid;    ///< "MIG-..."
        bool operator==(const Device&) const = default;
    };
    struct Gpu {
        unsigned index = 0;
        std::string uuid;
        std::vector<Device> devices; ///< Ascending by number.
        bool operator==(const Gpu&) const = default;
    };

    std::vector<Gpu> gpus; ///< Ascending by index.
    bool operator==(const MigMap&) const = default;
};

/// Reads a map. Empty lines and lines that begin with "#" are ignored. Errors: usage, with the
/// line.
Result<MigMap> parse_mig_map(std::string_view text);

/// Gives the instances among `gpus` the UUIDs and numbers of the map, if it fits: it has the same
/// GPUs with instances, as many instances of each, and profiles that these can have. NVIDIA's order
/// is that of the numbers of GPU instances and compute instances. Errors: requirement, with the
/// first thing that does not fit; nothing is changed then.
Result<void> use_mig_map(const MigMap& map, const std::vector<Instance>& instances,
                         std::vector<model::Gpu>& gpus);

} // namespace gpucontainer::drivers::nvidia
