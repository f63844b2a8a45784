// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::search {

/// Major number of a character driver in /proc/devices.
std::optional<unsigned> character_major(const std::string& proc_devices, std::string_view name);

/// Those of all whose name begins so.
std::vector<unsigned> character_majors(const std::string& proc_devices, std::string_view beginning);

/// Links below /dev/dri/by-path, by the name of the node in /dev/dri that each leads to.
using NodeLinks = std::map<std::string, std::vector<std::string>>;
Result<NodeLinks> links_by_path(const std::string& system_root, const std::string& dev_root);

/// A device node as the kernel says that it should be.
struct WantedNode {
    std::string path;              ///< "/dev/nvidia0"
    std::optional<unsigned> major; ///< None: its kernel driver is not loaded.
    unsigned minor = 0;
    int gpu = -1; ///< As in DeviceNode, like what follows.
    model::Capability capability = model::Capability::none;
    bool required = true;
    std::vector<std::string> links;
    std::string host_path = {}; ///< Where it is on this host; empty: at its path in dev_root.
    std::string obstacle = {};  ///< Why it is not taken, whatever is there.
};

struct Nodes {
    std::vector<model::DeviceNode> nodes;
    std::vector<model::DeviceNode> missing; ///< Those that are required.
};

/// Adds the node of that number at its path below `dev_root` to `found`, unopened. Why
/// it is missing, is another, or may not be used goes to `findings`. Errors: driver,
/// where it cannot be told what is there.
Result<void> add_node(const std::string& system_root, const std::string& dev_root,
                      const WantedNode& wanted, Nodes& found, model::Findings& findings);

} // namespace gpucontainer::search
