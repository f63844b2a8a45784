// SPDX-License-Identifier: MIT
#include "check/surroundings.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "plan/container_request.hpp"
#include "plan/selection.hpp"

#include <algorithm>
#include <vector>

namespace gpucontainer::check {

using model::Capability;
using model::DriverFile;

namespace {

std::string asked_for(const Surroundings& around)
{
    model::Findings ignored;
    return plan::asked_capabilities(around.plan->drivers, around.request, ignored);
}

/// What asks for a further part: the option, or the variable of the container that decides.
std::string request_with(const Surroundings& around, Capability part)
{
    const std::string words = base::format("{},{}", asked_for(around), model::name(part));
    const std::string place = around.place_of_capabilities();
    return place == "driver_capabilities" ? base::format("--driver-capabilities {}", words)
                                          : base::format("{}={} in the container", place, words);
}

} // namespace

std::map<std::string, std::string> Surroundings::environment() const
{
    std::map<std::string, std::string> all = request.container;
    if (plan == nullptr || as_is)
        return all;
    for (const plan::Variable& variable : plan->variables) {
        if (variable.action == "unset") {
            all.erase(variable.name);
            continue;
        }
        std::string& value = all[variable.name];
        if (variable.action == "prepend" && !value.empty())
            value = variable.value + ":" + value;
        else if (variable.action == "append" && !value.empty())
            value += ":" + variable.value;
        else
            value = variable.value;
    }
    return all;
}

std::set<Capability> Surroundings::capabilities() const
{
    if (plan == nullptr)
        return {};
    const auto parsed = plan::parse_capabilities(asked_for(*this));
    return parsed ? *parsed : std::set<Capability>();
}

std::string Surroundings::place_of_capabilities() const
{
    if (!request.names_capabilities && plan != nullptr)
        for (const plan::UsedDriver& used : plan->drivers) {
            const drivers::Vendor* const vendor = drivers::find_vendor(used.vendor);
            if (vendor == nullptr || vendor->container.capabilities.empty())
                continue;
            const auto set = request.container.find(std::string(vendor->container.capabilities));
            if (set != request.container.end() && !base::trim(set->second).empty())
                return set->first;
        }
    return "driver_capabilities";
}

OfDriver library_of_driver(const Surroundings& around, std::string_view soname, bool compat32)
{
    for (const model::DriverStack& driver : around.drivers)
        for (const DriverFile& file : driver.files)
            if (file.kind == model::FileKind::library && file.compat32 == compat32
                && (file.soname == soname || file.name == soname
                    || std::ranges::find(file.links, soname) != file.links.end()))
                return {&driver, &file};
    return {};
}

OfDriver tool_of_driver(const Surroundings& around, std::string_view name)
{
    for (const model::DriverStack& driver : around.drivers)
        for (const DriverFile& file : driver.files)
            if (file.kind == model::FileKind::tool && file.name == name)
                return {&driver, &file};
    return {};
}

std::string given_path(const plan::Plan* plan, const DriverFile& file)
{
    if (plan == nullptr)
        return "";
    for (const plan::Item& item : plan->items)
        if (const auto* const bind = item.as<plan::Bind>();
            bind != nullptr && bind->source == file.path)
            return item.target;
    for (const plan::Item& item : plan->items)
        if (const auto* const cover = item.as<plan::Cover>();
            cover != nullptr && cover->source == file.path)
            return item.target;
    return "";
}

NotGiven why_not_given(const Surroundings& around, const OfDriver& wanted)
{
    const std::string& title = wanted.driver->vendor_name;
    if (around.request.vendor_libs == plan::VendorLibs::none)
        return {base::format(
                    "is of the host's {} driver, of which device nodes alone are asked for", title),
                "leave out --vendor-libs none"};
    const DriverFile& file = *wanted.file;
    const auto asked = around.capabilities();
    if (!asked.contains(file.capability) && !asked.contains(file.also)
        && file.capability != Capability::none)
        return {base::format("belongs to the part {} of the {} driver, which is not asked for",
                             model::name(file.capability), title),
                base::format("ask for it by {}", request_with(around, file.capability)), true};
    if (file.compat32 && !asked.contains(Capability::compat32))
        return {
            base::format("is for 32-bit programs of the {} driver, which are not asked for", title),
            base::format("ask for them by {}", request_with(around, Capability::compat32)), true};
    const auto left_out =
        std::ranges::find_if(around.plan->findings, [&](const model::Finding& finding) {
            return finding.code == model::FindingCode::file_left_out
                   && finding.evidence == file.path;
        });
    return {base::format("is of the host's {} driver, and is left out{}{}", title,
                         left_out != around.plan->findings.end() ? ": " : "",
                         left_out != around.plan->findings.end() ? left_out->text : "")};
}

} // namespace gpucontainer::check
