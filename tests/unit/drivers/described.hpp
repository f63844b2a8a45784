// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "model/driver.hpp"
#include "search/nodes.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace gpucontainer::test {

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

inline std::vector<std::string> lines(const std::vector<model::Skipped>& skipped)
{
    std::vector<std::string> all;
    for (const model::Skipped& one : skipped)
        all.push_back(one.name + ": " + one.reason);
    return all;
}

} // namespace gpucontainer::test
