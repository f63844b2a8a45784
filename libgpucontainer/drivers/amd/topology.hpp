// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::drivers::amd {

/// What the compute driver (KFD) tells about a GPU or partition.
struct TopologyNode {
    unsigned number = 0;         ///< Programs count GPUs in this order.
    unsigned render_minor = 0;   ///< 0: a processor, or a GPU without a render node.
    std::uint64_t unique_id = 0; ///< 0: unknown.
    std::uint32_t domain = 0;
    std::uint32_t location = 0; ///< Bus, device and function; a partition has its number as that.
    std::uint32_t target = 0;   ///< 90402
    bool has_simd = false;      ///< It is a GPU.
};

/// Why a file of the kernel's was not read.
Error unreadable(const Error& error, const std::string& path);

/// Parses the file "properties" of a node. A value that is missing or not a number stays 0.
TopologyNode parse_properties(std::string_view text);

struct Topology {
    bool present = false; ///< The kernel has a compute driver.
    std::vector<TopologyNode> gpus;
    model::Findings findings;
};
Result<Topology> read_topology(const std::string& system_root);

/// "gfx942" for 90402; "" for 0.
std::string architecture_of(std::uint32_t target);

} // namespace gpucontainer::drivers::amd
