// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "drivers/registry.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace gpucontainer::test {

/// Variables of a driver that others may take for theirs, for its vendor does not name them.
inline std::vector<std::string> unnamed_variables(const model::DriverStack& driver)
{
    const auto& names = drivers::find_vendor(driver.vendor)->variables;
    std::vector<std::string> all;
    for (const model::VisibleDevices& variable : driver.visible_devices)
        if (std::ranges::find(names, variable.name) == names.end())
            all.push_back(variable.name);
    return all;
}

/// What was found, a line each: what a test compares.
inline std::vector<std::string> lines(const std::vector<model::Gpu>& gpus)
{
    std::vector<std::string> all;
    for (const model::Gpu& gpu : gpus)
        all.push_back(base::format("{} {} {}: {}", gpu.index, gpu.pci_address, gpu.model,
                                   fmt::join(gpu.names, " ")));
    return all;
}

inline std::vector<std::string> lines(const std::vector<search::WantedNode>& nodes)
{
    std::vector<std::string> all;
    for (const search::WantedNode& node : nodes)
        all.push_back(base::format("{} {}:{} for {}{}", node.path, node.major.value_or(0),
                                   node.minor, node.gpu, node.required ? "" : ", optional"));
    return all;
}

inline std::vector<std::string> lines(const model::Findings& findings)
{
    std::vector<std::string> all;
    for (const model::Finding& one : findings)
        all.push_back(one.message());
    return all;
}

inline std::vector<std::string> warnings(const model::Findings& findings)
{
    std::vector<std::string> all;
    for (const model::Finding& one : findings)
        if (one.severity() == model::Severity::warning)
            all.push_back(one.message());
    return all;
}

} // namespace gpucontainer::test
