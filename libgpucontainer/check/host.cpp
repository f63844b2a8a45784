// SPDX-License-Identifier: MIT
#include "check/host.hpp"

#include "base/format.hpp"
#include "base/try.hpp"
#include "check/causes.hpp"
#include "check/cdi_specifications.hpp"
#include "check/namespaces.hpp"
#include "check/nodes.hpp"
#include "check/policies.hpp"
#include "detect/sources.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

namespace gpucontainer::check {

using detect::Detection;
using drivers::Vendor;
using model::Blocks;
using model::Cause;
using model::Causes;
using model::DriverStack;
using model::FindingCode;
using model::Stage;

namespace {

/// Why a driver cannot be used. Without another driver, no program can use a GPU.
Cause failure_of(const Error& error)
{
    if (error.code() == Errc::no_device && !error.object().starts_with('/')) {
        Cause cause = cause_of(error, FindingCode::gpu_without_driver, Stage::module);
        cause.finding.evidence = "/sys/bus/pci/devices";
        return cause;
    }
    return cause_of(error, FindingCode::driver_unusable, Stage::host);
}

/// Without a driver, something must be said.
void add_absence(HostSeen& seen)
{
    if (!seen.host.drivers->empty() || !seen.causes.empty())
        return;
    seen.causes.push_back(
        {{FindingCode::no_gpu, "", "there is no GPU on this host that a driver has",
          "/sys/bus/pci/devices",
          "look for the GPU with `lspci`; in a virtual machine, it has to be "
          "passed on to that"},
         Stage::bus});
}

/// What of a vendor that nobody asked for cannot be used: all programs stop if there is no other.
Cause unasked_failure(const detect::Host& host, const model::Finding& failure)
{
    return {failure, Stage::host, host.drivers->empty() ? Blocks::all : Blocks::some};
}

/// Looks at this host, vendor by vendor.
class HostLook {
public:
    explicit HostLook(const Detection& detection) : detection_(detection) {}

    Result<HostSeen> run()
    {
        GPUCTR_CHECK(detect());
        GPUCTR_TRY(drivers::Site site, detect::read_site(detection_));
        const std::vector<Vendor>& vendors = site.vendors;
        GPUCTR_TRY(const auto opened,
                   detect::HostSources::open(detection_, std::move(site.catalogue)));
        std::vector<CdiVendor> of_cdi;
        for (const Vendor& vendor : vendors) {
            if (!detection_.all_vendors && !asked_for(vendor))
                continue;
            of_cdi.push_back({vendor.cdi_kind, ""});
            GPUCTR_CHECK(look_at(vendor, opened.get()));
        }
        add_absence(seen_);
        GPUCTR_CHECK(add_policy_causes("", *seen_.host.drivers, seen_.causes));
        GPUCTR_CHECK(add_namespace_causes("", namespace_user(), seen_.causes));
        add_cdi_causes(engines_specifications(), of_cdi, seen_.causes);
        return std::move(seen_);
    }

private:
    /// Detects what there is. A part that cannot be used is a cause, and the rest is looked at.
    Result<void> detect()
    {
        for (std::size_t attempts = 0; attempts < 3; ++attempts) {
            auto host = detect::open_host(detection_);
            if (host) {
                seen_.host = *std::move(host);
                return {};
            }
            if (!leave_root_out(host.error())) {
                if (host.error().code() == Errc::usage)
                    return std::move(host).error();
                break;
            }
        }
        leave_vendors_out();
        seen_.host.drivers = std::make_shared<const std::vector<DriverStack>>();
        if (detection_.vendors.empty() && !detection_.all_vendors)
            return {};
        GPUCTR_TRY(seen_.host, detect::open_host(detection_));
        return {};
    }

    /// A root that was named and cannot be opened is a cause. The host's own is looked at then:
    /// most other causes are the same with any.
    bool leave_root_out(const Error& error)
    {
        const bool is_driver_root = std::strcmp(error.argument(), "driver_root") == 0;
        if (!is_driver_root && std::strcmp(error.argument(), "dev_root") != 0)
            return false;
        seen_.causes.push_back(cause_of(error, FindingCode::request_refused, Stage::choice));
        if (is_driver_root) {
            detection_.driver_root = "/";
            is_root_replaced_ = true;
        } else {
            detection_.dev_root.clear();
        }
        return true;
    }

    /// Takes the vendors out whose detection fails, each with its cause.
    void leave_vendors_out()
    {
        std::vector<std::string> left;
        for (const std::string& vendor : detection_.vendors) {
            Detection alone = detection_;
            alone.vendors = {vendor};
            alone.all_vendors = false;
            const auto found = detect::detect(alone);
            if (found)
                left.push_back(vendor);
            else
                failures_.emplace(vendor, failure_of(found.error()));
        }
        detection_.vendors = std::move(left);
    }

    bool asked_for(const Vendor& vendor) const
    {
        return detection_.asks_for(vendor.name) || failures_.contains(std::string(vendor.name));
    }

    const DriverStack* driver_of(const Vendor& vendor) const
    {
        const auto& drivers = *seen_.host.drivers;
        const auto found = std::ranges::find(drivers, vendor.name, &DriverStack::vendor);
        return found == drivers.end() ? nullptr : &*found;
    }

    /// Why the vendor has no driver here; none if it has one, or no GPU.
    std::optional<Cause> failure_of_vendor(const Vendor& vendor) const
    {
        const auto asked = failures_.find(std::string(vendor.name));
        if (asked != failures_.end())
            return asked->second;
        const auto found = std::ranges::find(
            seen_.host.findings, base::format("{} driver", vendor.title), &model::Finding::object);
        if (found == seen_.host.findings.end())
            return std::nullopt;
        return unasked_failure(seen_.host, *found);
    }

    Result<void> look_at(const Vendor& vendor, const drivers::Sources& sources)
    {
        const DriverStack* driver = driver_of(vendor);
        std::optional<Cause> failure = driver == nullptr ? failure_of_vendor(vendor) : std::nullopt;
        if (driver == nullptr && !failure)
            return {};
        Causes found;
        const drivers::Diagnosis* const maker = vendor.diagnosis;
        if (maker != nullptr && maker->of_host != nullptr)
            GPUCTR_CHECK(maker->of_host(sources, driver, found));
        if (failure && !is_explained(found))
            found.push_back(about_root(*std::move(failure)));
        std::optional<DriverStack> kernels;
        if (driver == nullptr && maker != nullptr && maker->without_files != nullptr) {
            GPUCTR_TRY(kernels, maker->without_files(sources));
        }
        if (const DriverStack* const stack = driver != nullptr ? driver
                                             : kernels         ? &*kernels
                                                               : nullptr) {
            Causes of_nodes;
            add_node_causes(*stack, of_nodes);
            std::ranges::move(of_nodes, std::back_inserter(found));
            add_warnings(stack->findings, found);
        }
        if (kernels)
            seen_.without_files.push_back(*std::move(kernels));
        add(std::move(found));
        return {};
    }

    static bool is_explained(const Causes& causes)
    {
        return std::ranges::any_of(causes, drivers::explains_failure);
    }

    /// A driver that was not found in a root that somebody named is mostly elsewhere.
    Cause about_root(Cause cause) const
    {
        const bool is_path = cause.finding.evidence.starts_with('/');
        if (detection_.driver_root != "/" && !is_path)
            cause.finding.evidence = "driver_root";
        return cause;
    }

    void add(Causes found)
    {
        // Whether another root's files fit is not known.
        if (is_root_replaced_)
            std::erase_if(found, [](const Cause& cause) {
                return cause.finding.code == FindingCode::driver_unusable;
            });
        std::ranges::move(found, std::back_inserter(seen_.causes));
    }

    Detection detection_;
    HostSeen seen_;
    std::map<std::string, Cause> failures_; ///< By the names of the vendors that were asked for.
    bool is_root_replaced_ = false;
};

} // namespace

HostSeen look_at_record(const detect::Host& record)
{
    HostSeen seen;
    seen.host = record;
    for (const DriverStack& driver : *record.drivers) {
        const Vendor* const vendor = drivers::find_vendor(driver.vendor);
        if (vendor != nullptr && vendor->diagnosis != nullptr
            && vendor->diagnosis->of_record != nullptr)
            vendor->diagnosis->of_record(driver, seen.causes);
        add_node_causes(driver, seen.causes);
        add_warnings(driver.findings, seen.causes);
    }
    for (const model::Finding& failure : record.findings)
        seen.causes.push_back(unasked_failure(record, failure));
    add_absence(seen);
    return seen;
}

Result<HostSeen> look_at_host(const Detection& detection) { return HostLook(detection).run(); }

} // namespace gpucontainer::check
