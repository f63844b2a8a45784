// SPDX-License-Identifier: MIT
#include "check/check.hpp"

#include "base/try.hpp"
#include "check/as_is.hpp"
#include "check/causes.hpp"
#include "check/container_view.hpp"
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

/// The request without what may be wrong in it, so that the rest of a container can be looked at
/// all the same: it asks for all GPUs, and nothing is required.
plan::Request without_choice(const plan::Request& request)
{
    plan::Request plain = request;
    plain.devices = "all";
    plain.names_devices = true;
    plain.required.clear();
    plain.requirements.clear();
    plain.environment.clear();
    plain.extras.clear();
    for (const drivers::Vendor& vendor : drivers::vendors())
        std::erase_if(plain.container, [&](const auto& variable) {
            const std::string_view prefix = vendor.container.requirements;
            return variable.first == vendor.container.devices
                   || (!prefix.empty() && variable.first.starts_with(prefix));
        });
    return plain;
}

/// The drivers' files alone, as a plan cannot be made where no GPU may be used.
detect::Host without_gpus(const detect::Host& host)
{
    detect::Host files = host;
    std::vector<model::DriverStack> drivers = *host.drivers;
    for (model::DriverStack& driver : drivers) {
        driver.gpus.clear();
        driver.library_order.clear();
        driver.nodes.clear();
        driver.missing_nodes.clear();
        driver.masks.clear();
        driver.findings.clear();
    }
    files.drivers = std::make_shared<const std::vector<model::DriverStack>>(std::move(drivers));
    return files;
}

/// The loader of the image is missing, which is noticed when a program starts.
bool is_about_loader(const Error& error)
{
    return error.code() == Errc::rootfs
           && std::ranges::any_of(elf::machines, [&](const elf::Machine& machine) {
                  return error.object() == machine.loader;
              });
}

/// The plan that a set-up would carry out. If it would fail, the cause, and the plan of a request
/// without what is wrong in it, if that can be made.
Result<std::optional<plan::Planned>> plan_for(const detect::Host& host, const Subject& subject,
                                              Causes& causes)
{
    if (host.drivers->empty())
        return std::optional<plan::Planned>();
    auto planned = plan::make_plan(host, subject.request, subject.rootfs_fd);
    if (!planned) {
        const Error& error = planned.error();
        if (error.code() == Errc::internal)
            return std::move(planned).error();
        // Of libraries that were asked for and do not fit, start() says more.
        if (error.code() != Errc::requirement
            || subject.request.vendor_libs != plan::VendorLibs::host)
            causes.push_back(cause_of(error, FindingCode::request_refused,
                                      is_about_loader(error) ? Stage::start : Stage::choice));
        const plan::Request plain = without_choice(subject.request);
        planned = plan::make_plan(host, plain, subject.rootfs_fd);
        if (!planned)
            planned = plan::make_plan(without_gpus(host), plain, subject.rootfs_fd);
    }
    if (!planned)
        return std::optional<plan::Planned>();
    add_warnings(planned->plan.findings, causes);
    return std::optional(*std::move(planned));
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
        auto chosen = planned ? chosen_of(planned->plan, driver.vendor) : driver.gpus;
        if (chosen.empty()) // the plan is about files alone
            chosen = driver.gpus;
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
    if (planned && as_is)
        GPUCTR_CHECK(
            add_causes_of_nodes_there(planned->plan, subject.rootfs_fd, subject.pidfd, causes));
    return ask_makers({container, around.environment(), std::move(started.loaded)}, host, planned,
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
