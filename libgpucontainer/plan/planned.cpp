// SPDX-License-Identifier: MIT
#include "plan/planned.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "plan/builder.hpp"
#include "plan/toolkit.hpp"
#include "privilege/capabilities.hpp"
#include "rootfs/remembered_view.hpp"
#include "rootfs/root.hpp"
#include "syscall/id_map.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::plan {
namespace {

/// Device nodes can be made only in the initial user namespace.
bool nodes_can_be_made() { return syscall::is_in_initial_user_namespace().value_or(true); }

/// The nodes that the host lacks and that can be made for a container, as if they were there.
std::vector<model::DriverStack> with_made_nodes(std::vector<model::DriverStack> drivers)
{
    const auto is_made = [](const model::DeviceNode& node) { return node.makeable; };
    for (model::DriverStack& driver : drivers) {
        for (model::DeviceNode& node : driver.missing_nodes)
            if (is_made(node)) {
                std::erase_if(driver.findings, [&](const model::Finding& finding) {
                    return finding.code == model::FindingCode::compute_node_unusable
                           && finding.object == node.path;
                });
                node.accessible = true;
                driver.nodes.push_back(node);
            }
        std::erase_if(driver.missing_nodes, is_made);
    }
    return drivers;
}

bool lacks_makeable_nodes(const std::vector<model::DriverStack>& drivers)
{
    return std::ranges::any_of(drivers, [](const model::DriverStack& driver) {
        return std::ranges::any_of(driver.missing_nodes, &model::DeviceNode::makeable);
    });
}

Result<Plan> plan_for(const std::vector<model::DriverStack>& found, const Request& request,
                      int rootfs_fd, const std::optional<privilege::Owner>& owner = {})
{
    std::vector<model::DriverStack> made;
    if (lacks_makeable_nodes(found) && privilege::may_make_nodes())
        made = with_made_nodes(found);
    const std::vector<model::DriverStack>& drivers = made.empty() ? found : made;
    if (rootfs_fd < 0)
        return create_plan(drivers, request, nullptr);
    GPUCTR_TRY(const auto root, rootfs::Root::open(rootfs_fd, owner));
    const rootfs::RememberedView view(root);
    const Target target = {view, root.facts(), nodes_can_be_made()};
    auto plan = create_plan(drivers, request, &target);
    GPUCTR_CHECK(root.check());
    return plan;
}

Error no_driver(const detect::Host& host)
{
    if (host.findings.empty())
        return {Errc::no_device, "no GPU on this host"};
    return {host.failure, host.findings.front().message()};
}

} // namespace

Result<Planned> make_plan(const detect::Host& host, Request request, int rootfs_fd)
{
    if (host.drivers->empty())
        return no_driver(host);
    for (const model::DriverStack& driver : *host.drivers)
        if (std::ranges::find(host.required, driver.vendor) != host.required.end())
            request.required.insert(driver.vendor);
    GPUCTR_CHECK(find_toolkits(*host.drivers, request.toolkit));
    GPUCTR_TRY(Plan plan, plan_for(*host.drivers, request, rootfs_fd));
    return Planned{std::move(plan), std::move(request), host.drivers, host.unproven};
}

Result<Planned> plan_anew(const Planned& planned, int rootfs_fd, bool shared,
                          const std::optional<privilege::Owner>& owner)
{
    Planned anew = planned;
    if (shared)
        anew.request.write = Write::never;
    GPUCTR_TRY(anew.plan, plan_for(*anew.drivers, anew.request, rootfs_fd, owner));
    return anew;
}

Result<void> prove(const Planned& planned)
{
    return detect::prove(*planned.drivers, planned.unproven);
}

} // namespace gpucontainer::plan
