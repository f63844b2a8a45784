// SPDX-License-Identifier: MIT
#include "plan/obstacles.hpp"

#include "base/format.hpp"

namespace gpucontainer::plan {

using model::DeviceNode;

Error missing_node(const model::DriverStack& driver, const DeviceNode& node)
{
    if (!node.problem.empty())
        return Error(Errc::no_device, base::format("{}: {}", node.host_path, node.problem))
            .with_object(node.host_path)
            .with_hint("the number changed when the module was loaded again, as after a reboot: "
                       "remove the node as root on the host, and have the driver's own tools make "
                       "it anew");
    const std::string remedy = driver.remedy_for(node);
    return Error(Errc::no_device, node.host_path + ": the device node is missing or another device")
        .with_object(node.host_path)
        .with_hint(!remedy.empty() ? remedy
                                   : "run the driver's own tools as root on the host to make it; "
                                     "`gpuctr-setup list` shows what is there instead");
}

Error forbidden_node(const model::DriverStack& driver, const DeviceNode& node)
{
    return Error(Errc::permission,
                 node.host_path + ": may not be used: " + driver.obstacle_to(node))
        .with_object(node.host_path)
        .with_hint("ask an administrator for access, by its group or the scheduler; "
                   "`gpuctr-setup list` shows which nodes are usable");
}

bool is_for_all(const DeviceNode& node)
{
    return node.gpu < 0 && node.capability == model::Capability::none;
}

std::optional<Error> obstacle_to_all(const model::DriverStack& driver)
{
    for (const DeviceNode& node : driver.missing_nodes)
        if (node.required && is_for_all(node))
            return missing_node(driver, node);
    for (const DeviceNode& node : driver.nodes)
        if (node.required && is_for_all(node) && !node.accessible)
            return forbidden_node(driver, node);
    return std::nullopt;
}

} // namespace gpucontainer::plan
