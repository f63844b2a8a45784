// SPDX-License-Identifier: MIT
#pragma once

#include "capture/report.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::capture {

/// The subsystems whose nodes and devices a report has wherever they are, and single devices of
/// others: ("misc", "dxg").
struct Classes {
    std::set<std::string> whole;
    std::set<std::pair<std::string, std::string>> single;

    bool has(const std::string& name, const std::string& device) const
    {
        return whole.contains(name) || single.contains({name, device});
    }
};

/// Adds the character devices of /dev, and the links to them, as dev.txt. Terminals, disks' and
/// other devices that every machine has are left out. Nothing is opened. Returns the directories
/// of sysfs that belong to them.
std::vector<std::string> add_nodes(const std::string& system_root, const Classes& classes,
                                   Report& report);

} // namespace gpucontainer::capture
