// SPDX-License-Identifier: MIT
#include "check/check.hpp"

#include "base/try.hpp"
#include "check/as_is.hpp"
#include "check/causes.hpp"
#include "check/host.hpp"
#include "check/program.hpp"
#include "drivers/registry.hpp"
#include "image/open_root.hpp"
#include "plan/planned.hpp"
#include "rootfs/remembered_view.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::check {

using model::Cause;
using model::Causes;
using model::FindingCode;
using model::Stage;

namespace {

void append(Causes& to, Causes from)
{
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// The plan that a set-up would carry out; none if it would fail, with the cause.
Result<std::optional<plan::Planned>> plan_for(const detect::Host& host, const Subject& subject,
                                              Causes& causes)
{
    if (host.drivers->empty())
        return std::optional<plan::Planned>();
    auto planned = plan::make_plan(host, subject.request, subject.rootfs_fd);
    if (planned) {
        add_warnings(planned->plan.findings, causes);
        return std::optional(*std::move(planned));
    }
    const Errc code = planned.error().code();
    if (code == Errc::internal)
        return std::move(planned).error();
    causes.push_back(cause_of(planned.error(), FindingCode::request_refused, Stage::choice));
    return std::optional<plan::Planned>();
}

std::vector<model::Gpu> chosen_of(const plan::Plan& plan, const std::string& vendor)
{
    const auto used = std::ranges::find(plan.drivers, vendor, &plan::UsedDriver::vendor);
    return used == plan.drivers.end() ? std::vector<model::Gpu>() : used->gpus;
}

/// What makers know about a container.
Result<void> ask_makers(const drivers::ContainerToCheck& container, const detect::Host& host,
                        const std::optional<plan::Planned>& planned, Causes& causes)
{
    for (const model::DriverStack& driver : *host.drivers) {
        const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (vendor == nullptr || vendor->diagnosis == nullptr
            || vendor->diagnosis->of_container == nullptr)
            continue;
        const auto chosen = planned ? chosen_of(planned->plan, driver.vendor) : driver.gpus;
        GPUCTR_CHECK(vendor->diagnosis->of_container(container, driver, chosen, causes));
    }
    return {};
}

Result<void> look_at_container(const Subject& subject, const detect::Host& host, Causes& causes)
{
    GPUCTR_TRY(const auto planned, plan_for(host, subject, causes));
    if (subject.rootfs_fd < 0)
        return {};
    GPUCTR_TRY(const auto root, image::open_root(subject.rootfs_fd));
    const rootfs::RememberedView view(*root);
    GPUCTR_TRY(Started started, start(view, subject.request.container, subject.program,
                                      planned ? &planned->plan : nullptr, *host.drivers));
    append(causes, std::move(started.causes));
    if (planned && subject.pidfd >= 0)
        GPUCTR_CHECK(
            add_causes_of_nodes_there(planned->plan, subject.rootfs_fd, subject.pidfd, causes));
    return ask_makers({view, subject.request.container, std::move(started.loaded)}, host, planned,
                      causes);
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
    GPUCTR_CHECK(look_at_container(subject, seen.host, causes));
    model::sort(causes);
    Diagnosis diagnosis = {{}, seen.host.drivers};
    for (const Cause& cause : causes)
        add_finding(cause, diagnosis.findings);
    return diagnosis;
}

} // namespace gpucontainer::check
