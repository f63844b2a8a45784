// SPDX-License-Identifier: MIT
#pragma once

#include "base/format.hpp"
#include "vendor/driver.hpp"
#include "vendor/nodes.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace gpucontainer::test {

/// What was found, a line each: what a test compares.
inline std::vector<std::string> lines(const std::vector<vendor::Gpu>& gpus)
{
    std::vector<std::string> all;
    for (const vendor::Gpu& gpu : gpus)
        all.push_back(base::format("{} {} {}: {}", gpu.index, gpu.pci_address, gpu.model,
                                   fmt::join(gpu.names, " ")));
    return all;
}

inline std::vector<std::string> lines(const std::vector<vendor::WantedNode>& nodes)
{
    std::vector<std::string> all;
    for (const vendor::WantedNode& node : nodes)
        all.push_back(base::format("{} {}:{} for {}{}", node.path, node.major.value_or(0),
                                   node.minor, node.gpu, node.required ? "" : ", optional"));
    return all;
}

inline std::vector<std::string> lines(const std::vector<vendor::Skipped>& skipped)
{
    std::vector<std::string> all;
    for (const vendor::Skipped& one : skipped)
        all.push_back(one.name + ": " + one.reason);
    return all;
}

} // namespace gpucontainer::test
