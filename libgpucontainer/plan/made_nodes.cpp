// SPDX-License-Identifier: MIT
#include "plan/made_nodes.hpp"

#include "base/unique_fd.hpp"
#include "host/made_node.hpp"
#include "mount/calls.hpp"
#include "privilege/capabilities.hpp"

#include <algorithm>
#include <unistd.h>

namespace gpucontainer::plan {
namespace {

using model::DeviceNode;
using model::DriverStack;
using model::FindingCode;

/// Makes nodes on a tmpfs that is attached nowhere, to see whether they may be used.
class Trial {
public:
    host::Obstacle obstacle_to(const DeviceNode& node) const
    {
        constexpr const char* name = "node";
        if (!tmpfs_)
            return {};
        host::Obstacle obstacle = host::make_node(
            tmpfs_.get(), name, {node.major, node.minor, node.mode, node.uid, node.gid});
        (void)::unlinkat(tmpfs_.get(), name, 0);
        return obstacle;
    }

private:
    base::UniqueFd tmpfs_ =
        base::UniqueFd(mount::new_tmpfs({mount::Backend::detached, -1}, nullptr));
};

/// The node is as one on the host that may not be used.
void refuse(DriverStack& driver, const DeviceNode& node, const std::string& why)
{
    for (model::Finding& finding : driver.findings)
        if (finding.code == FindingCode::node_missing && finding.evidence == node.host_path) {
            finding.code = FindingCode::node_inaccessible;
            finding.text = "the host lacks it, and it is not made for a container: " + why;
        }
}

void accept(DriverStack& driver, const DeviceNode& node)
{
    std::erase_if(driver.findings, [&](const model::Finding& finding) {
        return finding.code == FindingCode::compute_node_unusable && finding.object == node.path;
    });
}

void add_made_nodes(DriverStack& driver, const Trial& trial, const RefusedNodes& refused)
{
    for (DeviceNode node : driver.missing_nodes) {
        if (!node.makeable)
            continue;
        const auto reason = refused.find(node.path);
        const host::Obstacle obstacle =
            reason != refused.end() ? host::Obstacle{reason->second} : trial.obstacle_to(node);
        node.accessible = obstacle.text.empty();
        node.cgroup_forbids = obstacle.is_device_cgroup;
        if (node.accessible)
            accept(driver, node);
        else
            refuse(driver, node, obstacle.text);
        driver.nodes.push_back(std::move(node));
    }
    std::erase_if(driver.missing_nodes, [](const DeviceNode& node) { return node.makeable; });
}

bool lacks_makeable_nodes(const DriverStack& driver)
{
    return std::ranges::any_of(driver.missing_nodes, &DeviceNode::makeable);
}

} // namespace

std::optional<std::vector<DriverStack>> with_made_nodes(const std::vector<DriverStack>& found,
                                                        const RefusedNodes& refused)
{
    if (std::ranges::none_of(found, lacks_makeable_nodes) || !privilege::may_make_nodes())
        return std::nullopt;
    const Trial trial;
    std::vector<DriverStack> drivers = found;
    for (DriverStack& driver : drivers)
        add_made_nodes(driver, trial, refused);
    return drivers;
}

} // namespace gpucontainer::plan
