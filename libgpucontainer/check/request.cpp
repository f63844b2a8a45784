// SPDX-License-Identifier: MIT
#include "check/request.hpp"

#include "base/format.hpp"
#include "check/causes.hpp"
#include "drivers/registry.hpp"
#include "elf/machine.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpucontainer::check {

using model::Blocks;
using model::Cause;
using model::Causes;
using model::DeviceNode;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

/// Set by schedulers in each job, to which they mostly grant some of the machine's GPUs.
constexpr std::array schedulers = {"SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS",
                                   "PBS_JOBID",    "LSB_JOBID",      "JOB_ID",
                                   "FLUX_JOB_ID",  "_CONDOR_SLOT"};

/// The drivers as if all of their nodes worked; nothing if they do.
std::optional<std::vector<DriverStack>> mended(const std::vector<DriverStack>& found)
{
    std::vector<DriverStack> drivers = found;
    bool is_changed = false;
    for (DriverStack& driver : drivers) {
        for (DeviceNode& node : driver.nodes) {
            is_changed = is_changed || !node.accessible;
            node.accessible = true;
            node.cgroup_forbids = false;
        }
        for (DeviceNode& node : driver.missing_nodes)
            if (node.required) {
                is_changed = true;
                driver.nodes.push_back(std::move(node));
                driver.nodes.back().accessible = true;
                driver.nodes.back().problem.clear();
            }
        driver.missing_nodes.clear();
    }
    return is_changed ? std::optional(std::move(drivers)) : std::nullopt;
}

/// The variable of the container's that stated a requirement, as the plan's error names it; "" if
/// the caller stated it.
std::string stated_by(const Error& error, const plan::Environment& container)
{
    const std::string name = error.step().substr(0, error.step().find(' '));
    return container.contains(name) ? name : "";
}

/// Takes a mistake out of the request; whether it could.
class Correction {
public:
    Correction(plan::Request& request, const Error& error) : request_(request), error_(error) {}

    bool run()
    {
        const std::string_view argument = error_.argument();
        if (argument == "devices") {
            request_.names_devices = false;
            return reset(request_.devices, "auto");
        }
        if (argument == "driver_capabilities") {
            request_.names_capabilities = false;
            return reset(request_.capabilities, plan::Request().capabilities);
        }
        if (argument == "extras")
            return std::exchange(request_.extras, {}).size() > 0;
        if (argument == "requirements")
            return std::exchange(request_.requirements, {}).size() > 0;
        if (argument == "allowed_devices")
            return reset(request_.allowed_devices, "");
        if (argument == "toolkit")
            return reset(request_.toolkit.wanted, "");
        return request_.container.erase(variable()) > 0
               || request_.environment.erase(error_.object()) > 0;
    }

    /// The variable of the container's that the error is about; "" if there is none.
    std::string variable() const
    {
        if (error_.code() == Errc::requirement)
            return stated_by(error_, request_.container);
        return request_.container.contains(error_.object())
                       && error_.message().find(" of the container") != std::string::npos
                   ? error_.object()
                   : "";
    }

private:
    static bool reset(std::string& value, const std::string& usual)
    {
        return std::exchange(value, usual) != usual;
    }

    plan::Request& request_;
    const Error& error_;
};

/// The loader of the image is missing, which is noticed when a program starts.
bool is_about_loader(const Error& error)
{
    return error.code() == Errc::rootfs
           && std::ranges::any_of(elf::machines, [&](const elf::Machine& machine) {
                  return error.object() == machine.loader;
              });
}

/// Plans again and again, each time without what the last error was about.
class RequestLook {
public:
    RequestLook(const detect::Host& host, plan::Request request, int rootfs_fd,
                const rootfs::RootView* root, Causes& causes)
        : host_(host), request_(std::move(request)), rootfs_fd_(rootfs_fd), root_(root),
          causes_(causes)
    {
    }

    Result<std::optional<plan::Planned>> run()
    {
        auto planned = plan::make_plan(host_, request_, rootfs_fd_, root_);
        if (!planned && mend()) {
            auto other = plan::make_plan(host_, request_, rootfs_fd_, root_);
            if (other) // else both have the mistake that is dealt with below
                tell_of_nodes(planned.error());
            planned = std::move(other);
        }
        constexpr int most_mistakes = 16;
        for (int mistakes = 0; !planned && mistakes < most_mistakes; ++mistakes) {
            if (planned.error().code() == Errc::internal)
                return std::move(planned).error();
            if (!correct(planned.error()))
                return std::optional<plan::Planned>();
            planned = plan::make_plan(host_, request_, rootfs_fd_, root_);
        }
        return planned ? std::optional(*std::move(planned)) : std::nullopt;
    }

private:
    bool mend()
    {
        auto drivers = mended(*host_.drivers);
        if (drivers)
            host_.drivers = std::make_shared<const std::vector<DriverStack>>(*std::move(drivers));
        return drivers.has_value();
    }

    /// Why the nodes do not work was found out with the host, mostly.
    void tell_of_nodes(const Error& error)
    {
        const bool is_told = std::ranges::any_of(causes_, [](const Cause& cause) {
            return cause.stage <= Stage::host && cause.blocks == Blocks::all;
        });
        if (!is_told)
            causes_.push_back(cause_of(error, FindingCode::request_refused, Stage::choice));
    }

    /// Tells of a mistake and takes it out of the request; false if that is impossible.
    bool correct(const Error& error)
    {
        Correction correction(request_, error);
        std::string variable = correction.variable();
        // Of libraries that were asked for and do not fit, start() says more.
        if (error.code() == Errc::requirement && request_.vendor_libs == plan::VendorLibs::host
            && std::string_view(error.argument()).empty() && variable.empty())
            return false;
        Cause cause = cause_of(error, FindingCode::request_refused,
                               is_about_loader(error) ? Stage::start : Stage::choice);
        if (!variable.empty())
            cause.finding.evidence = std::move(variable);
        causes_.push_back(std::move(cause));
        return correction.run();
    }

    detect::Host host_;
    plan::Request request_;
    int rootfs_fd_;
    const rootfs::RootView* root_;
    Causes& causes_;
};

bool has_scheduler(const plan::Environment& environment)
{
    return std::ranges::any_of(schedulers, [&](const char* name) {
        const auto set = environment.find(name);
        return set != environment.end() && !set->second.empty();
    });
}

/// The node of a GPU that the device cgroup forbids, by its path on the host.
bool is_forbidden_gpu(const detect::Host& host, std::string_view path)
{
    return std::ranges::any_of(*host.drivers, [&](const DriverStack& driver) {
        return std::ranges::any_of(driver.nodes, [&](const DeviceNode& node) {
            return node.host_path == path && node.gpu >= 0 && node.cgroup_forbids;
        });
    });
}

} // namespace

Result<std::optional<plan::Planned>> plan_request(const detect::Host& host,
                                                  const plan::Request& request, int rootfs_fd,
                                                  const rootfs::RootView* root, Causes& causes)
{
    if (host.drivers->empty())
        return std::optional<plan::Planned>();
    return RequestLook(host, request, rootfs_fd, root, causes).run();
}

void judge_grant(const detect::Host& host, const plan::Request& request,
                 const std::optional<plan::Planned>& planned, Causes& causes)
{
    if (!planned)
        return;
    const auto is_expected = [&](const Cause& cause) {
        return cause.finding.code == FindingCode::node_inaccessible && cause.blocks == Blocks::some
               && is_forbidden_gpu(host, cause.finding.evidence);
    };
    if (has_scheduler(request.environment))
        std::erase_if(causes, is_expected);
    for (const model::Finding& finding : planned->plan.findings)
        if (finding.code == FindingCode::variable_ignored
            && is_forbidden_gpu(host, finding.evidence)) {
            Cause cause = {finding, Stage::choice};
            cause.finding.code = FindingCode::variable_contradicted;
            cause.finding.hint = "the program gets what the cgroup allows: ask the scheduler's "
                                 "administrator, or start the task with the GPUs of its job";
            causes.push_back(std::move(cause));
        }
}

} // namespace gpucontainer::check
