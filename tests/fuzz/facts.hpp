// SPDX-License-Identifier: MIT
#pragma once

#include "base/text.hpp"
#include "fuzz/fuzz.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

/// What has to hold of each fact about a host, whatever its kernel's files say: such
/// facts go into paths, records, variables and terminals.
namespace gpucontainer::fuzz {

inline bool is_plain(std::string_view text) { return std::ranges::none_of(text, base::is_control); }

/// One component of a path.
inline bool is_file_name(std::string_view text)
{
    return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos
           && is_plain(text);
}

/// Below /dev, and not out of it again.
inline bool is_node_path(std::string_view path)
{
    constexpr std::string_view above = "/dev/";
    return path.starts_with(above)
           && std::ranges::all_of(base::split(path.substr(above.size()), '/'), is_file_name);
}

/// "0000:65:00.0", as it stands in paths below /sys/bus/pci/devices.
inline bool is_pci_address(std::string_view text)
{
    const auto parts = base::split(text, ':');
    const auto is_hex = [](std::string_view part, std::size_t least, std::size_t most) {
        return part.size() >= least && part.size() <= most
               && part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    };
    constexpr std::size_t slot_size = 4; // "00.0"
    return parts.size() == 3 && is_hex(parts[0], 4, 8) && is_hex(parts[1], 2, 2)
           && parts[2].size() == slot_size && is_hex(parts[2].substr(0, 2), 2, 2)
           && parts[2][2] == '.' && parts[2][3] >= '0' && parts[2][3] <= '7';
}

inline void check_gpus(const std::vector<model::Gpu>& gpus)
{
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const model::Gpu& gpu = gpus[i];
        demand(gpu.index == i, "GPUs are numbered");
        demand(gpu.minor >= -1 && gpu.numa_node >= -1, "a number is known or -1");
        demand(gpu.parts >= 1, "a GPU has a part at least");
        demand(is_pci_address(gpu.pci_address), "an address is one of PCI");
        demand(is_plain(gpu.uuid) && is_plain(gpu.model) && is_plain(gpu.architecture),
               "what a GPU is called can be shown");
        demand(std::ranges::all_of(gpu.names, is_plain), "and what chooses it");
    }
}

inline void check_wanted(const std::vector<search::WantedNode>& nodes,
                         const std::vector<model::Gpu>& gpus)
{
    for (const search::WantedNode& node : nodes) {
        demand(is_node_path(node.path), "a node is below /dev");
        demand(node.gpu >= -1 && node.gpu < static_cast<int>(gpus.size()),
               "a node is of a GPU that was found");
        demand(std::ranges::all_of(node.links, is_node_path), "so are the links to it");
    }
}

} // namespace gpucontainer::fuzz
