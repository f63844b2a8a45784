// SPDX-License-Identifier: MIT
#include "plan/planned.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "cdi/as_mounts.hpp"
#include "image/open_root.hpp"
#include "plan/builder.hpp"
#include "plan/cdi_plan.hpp"
#include "plan/made_nodes.hpp"
#include "plan/toolkit.hpp"
#include "rootfs/remembered_view.hpp"
#include "syscall/id_map.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gpucontainer::plan {
namespace {

/// Device nodes can be made only in the initial user namespace.
bool nodes_can_be_made() { return syscall::is_in_initial_user_namespace().value_or(true); }

/// Sets planned.plan, made from the rest of it.
Result<void> plan_for(Planned& planned, int rootfs_fd, const rootfs::RootView* root = nullptr,
                      const std::optional<privilege::Owner>& owner = {})
{
    if (planned.cdi != nullptr && rootfs_fd < 0)
        return {};
    // Whoever starts a container from mounts alone does not make nodes.
    const auto made = planned.request.layout != Layout::binds
                          ? with_made_nodes(*planned.drivers, planned.refused)
                          : std::nullopt;
    const std::vector<model::DriverStack>& drivers = made ? *made : *planned.drivers;
    if (rootfs_fd < 0) {
        GPUCTR_TRY(planned.plan, create_plan(drivers, planned.request, nullptr));
        return {};
    }
    std::unique_ptr<rootfs::RootView> own;
    if (root == nullptr) {
        GPUCTR_TRY(own, image::open_root(rootfs_fd, owner));
        root = own.get();
    }
    const rootfs::RememberedView view(*root);
    const Target target = {view, root->facts(), nodes_can_be_made()};
    auto plan = planned.cdi != nullptr ? create_cdi_plan(*planned.cdi, planned.request, target)
                                       : create_plan(drivers, planned.request, &target);
    GPUCTR_CHECK(root->check());
    GPUCTR_TRY(planned.plan, std::move(plan));
    planned.plan.has_root = !image::is_file(rootfs_fd);
    return {};
}

Error no_driver(const detect::Host& host)
{
    if (host.findings.empty())
        return {Errc::no_device, "no GPU on this host"};
    return {host.failure, host.findings.front().message()};
}

} // namespace

Result<Planned> make_plan(const detect::Host& host, Request request, int rootfs_fd,
                          const rootfs::RootView* root)
{
    if (host.drivers->empty())
        return no_driver(host);
    for (const model::DriverStack& driver : *host.drivers)
        if (std::ranges::find(host.required, driver.vendor) != host.required.end())
            request.required.insert(driver.vendor);
    GPUCTR_CHECK(find_toolkits(*host.drivers, request.toolkit));
    if (request.glibc.wanted) {
        GPUCTR_TRY(request.glibc.host, search::find_host_runtime(*host.drivers));
    }
    request.directories = named_directories(*host.drivers, request.environment);
    Planned planned = {{}, std::move(request), host.drivers, host.unproven, {}};
    GPUCTR_CHECK(plan_for(planned, rootfs_fd, root));
    return planned;
}

Result<Planned> make_cdi_plan(cdi::Merged merged, Request request, int rootfs_fd)
{
    Planned planned;
    planned.request = std::move(request);
    // Names among the image's own, and no tree.
    planned.request.layout = Layout::merged;
    planned.drivers = std::make_shared<const std::vector<model::DriverStack>>();
    if (rootfs_fd < 0)
        cdi::do_by_mounts(merged, planned.plan.findings);
    planned.cdi = std::make_shared<const cdi::Merged>(std::move(merged));
    GPUCTR_CHECK(plan_for(planned, rootfs_fd));
    return planned;
}

Result<Planned> plan_anew(const Planned& planned, int rootfs_fd, bool shared,
                          const std::optional<privilege::Owner>& owner)
{
    Planned anew = planned;
    if (shared)
        anew.request.write = Write::never;
    GPUCTR_CHECK(plan_for(anew, rootfs_fd, nullptr, owner));
    return anew;
}

Result<void> prove(const Planned& planned)
{
    return detect::prove(*planned.drivers, planned.unproven);
}

} // namespace gpucontainer::plan
