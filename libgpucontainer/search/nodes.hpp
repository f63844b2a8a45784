// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// Major number of a character driver in /proc/devices.
std::optional<unsigned> character_major(const std::string& proc_devices, std::string_view name);

/// The same for all character drivers whose names begin so.
std::vector<unsigned> character_majors(const std::string& proc_devices, std::string_view beginning);

/// The links below /dev/dri/by-path. Their key is the name of the node in /dev/dri.
using NodeLinks = std::map<std::string, std::vector<std::string>>;
Result<NodeLinks> links_by_path(const std::string& system_root, const std::string& dev_root);

/// Whose a device node is that a kernel driver lets be made.
struct NodeRights {
    std::uint32_t mode = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
};

/// A device node that should exist according to the kernel.
struct WantedNode {
    std::string path;              ///< "/dev/nvidia0"
    std::optional<unsigned> major; ///< None: its kernel driver is not loaded.
    unsigned minor = 0;
    int gpu = -1; ///< As in DeviceNode, like the next members.
    model::Capability capability = model::Capability::none;
    bool required = true;
    std::vector<std::string> links;
    std::string host_path = {};            ///< Its path on this host; "": `path` below dev_root.
    std::string obstacle = {};             ///< If not "", it is not taken, for this reason.
    std::string extra = {};                ///< As in DeviceNode.
    std::optional<NodeRights> rights = {}; ///< If it is missing, it can be made with these.
    std::string remedy = {};               ///< What can be done if it is missing.
};

struct Nodes {
    std::vector<model::DeviceNode> nodes;
    std::vector<model::DeviceNode> missing; ///< As in DriverStack::missing_nodes.
};

/// Adds the node at its path below `dev_root` to `found`, without opening it. If it is missing, is
/// another device or may not be used, `findings` say why. Errors: driver, if it is unknown what is
/// there.
Result<void> add_node(const std::string& system_root, const std::string& dev_root,
                      const WantedNode& wanted, Nodes& found, model::Findings& findings);

} // namespace gpucontainer::search
