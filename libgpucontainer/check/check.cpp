// SPDX-License-Identifier: MIT
#include "check/check.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "check/as_is.hpp"
#include "check/causes.hpp"
#include "check/cdi_specifications.hpp"
#include "check/container_view.hpp"
#include "check/host.hpp"
#include "check/image_files.hpp"
#include "check/masks.hpp"
#include "check/program.hpp"
#include "check/request.hpp"
#include "drivers/registry.hpp"
#include "image/open_root.hpp"
#include "plan/planned.hpp"
#include "rootfs/remembered_view.hpp"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace gpucontainer::check {

using model::Cause;
using model::Causes;
using Drivers = std::vector<model::DriverStack>;

namespace {

void append(Causes& to, Causes from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// All drivers of the host, the last ones without their files.
Drivers all_drivers(const HostSeen& seen)
{
    Drivers all = *seen.host.drivers;
    all.insert(all.end(), seen.without_files.begin(), seen.without_files.end());
    return all;
}

/// Whether it can be planned with.
bool has_files(const HostSeen& seen, const model::DriverStack& driver)
{
    return std::ranges::find(seen.without_files, driver.vendor, &model::DriverStack::vendor)
           == seen.without_files.end();
}

std::vector<model::Gpu> chosen_of(const plan::Plan& plan, const std::string& vendor)
{
    const auto used = std::ranges::find(plan.drivers, vendor, &plan::UsedDriver::vendor);
    return used == plan.drivers.end() ? std::vector<model::Gpu>() : used->gpus;
}

/// What is known about a container with these GPUs, and what makers know about it.
Result<void> ask_makers(const drivers::ContainerToCheck& container, const HostSeen& seen,
                        const std::optional<plan::Planned>& planned, Causes& causes)
{
    for (const model::DriverStack& driver : all_drivers(seen)) {
        const auto chosen = planned && has_files(seen, driver)
                                ? chosen_of(planned->plan, driver.vendor)
                                : driver.gpus;
        check_masks(driver, chosen, container.environment, causes);
        const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (vendor == nullptr || vendor->diagnosis == nullptr
            || vendor->diagnosis->of_container == nullptr)
            continue;
        GPUCTR_CHECK(vendor->diagnosis->of_container(container, driver, chosen, causes));
    }
    return {};
}

std::vector<CdiVendor> vendors_of(const Drivers& drivers)
{
    std::vector<CdiVendor> vendors;
    for (const model::DriverStack& driver : drivers)
        if (const auto* const vendor = drivers::find_vendor(driver.vendor))
            vendors.push_back({vendor->cdi_kind, vendor->container.devices});
    return vendors;
}

Result<void> look_at_container(const Subject& subject, const HostSeen& seen, Causes& causes)
{
    const detect::Host& host = seen.host;
    const Drivers drivers = all_drivers(seen);
    // One for all: what was read of an image is not read again for the plan.
    std::unique_ptr<rootfs::RootView> root;
    if (subject.rootfs_fd >= 0) {
        GPUCTR_TRY(root, image::open_root(subject.rootfs_fd));
    }
    GPUCTR_TRY(const auto planned,
               plan_request(host, subject.request, subject.rootfs_fd, root.get(), causes));
    if (planned)
        add_warnings(planned->plan.findings, causes);
    judge_grant(host, subject.request, planned, causes);
    if (subject.record == nullptr)
        add_missing_devices(engines_specifications(), vendors_of(drivers),
                            subject.request.container, causes);
    if (root == nullptr)
        return {};
    const rootfs::RememberedView view(*root);
    const bool as_is = subject.pidfd >= 0;
    const plan::Plan nothing;
    const ContainerView container(view, planned && !as_is ? planned->plan : nothing);
    Surroundings around = {view,
                           container,
                           planned ? &planned->plan : nullptr,
                           planned ? planned->request : subject.request,
                           *host.drivers,
                           as_is};
    if (planned)
        around.machine = planned->plan.machine;
    Started started = start(around, subject.program);
    append(causes, std::move(started.causes));
    add_missing_places(view, drivers, causes);
    GPUCTR_CHECK(add_group_causes(view, drivers, ::geteuid() == 0, causes));
    if (planned && as_is)
        GPUCTR_CHECK(
            add_causes_of_nodes_there(planned->plan, subject.rootfs_fd, subject.pidfd, causes));
    GPUCTR_CHECK(ask_makers({container, around.environment(), std::move(started.loaded),
                             subject.request.compat != plan::Compat::never},
                            seen, planned, causes));
    // What could not be read of an image is not what the image lacks.
    return image::is_file(subject.rootfs_fd) ? root->check() : Result<void>();
}

/// The finding, as severe as its cause. Of several with the same evidence and code, the first.
void add_finding(const Cause& cause, model::Findings& findings)
{
    model::Finding finding = cause.finding;
    finding.weight = cause.severity();
    const bool is_known = std::ranges::any_of(findings, [&](const model::Finding& other) {
        return other.code == finding.code && other.evidence == finding.evidence
               && other.object == finding.object;
    });
    if (!is_known)
        findings.push_back(std::move(finding));
}

} // namespace

Result<Diagnosis> check(const Subject& subject)
{
    GPUCTR_TRY(HostSeen seen, subject.record != nullptr ? look_at_record(*subject.record)
                                                        : look_at_host(subject.detection));
    Causes causes = std::move(seen.causes);
    GPUCTR_CHECK(look_at_container(subject, seen, causes));
    model::sort(causes);
    Diagnosis diagnosis = {{}, seen.host.drivers};
    for (const Cause& cause : causes)
        add_finding(cause, diagnosis.findings);
    return diagnosis;
}

} // namespace gpucontainer::check
