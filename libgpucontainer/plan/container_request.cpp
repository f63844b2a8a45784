// SPDX-License-Identifier: MIT
#include "plan/container_request.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "drivers/registry.hpp"
#include "plan/requirements.hpp"
#include "plan/variable_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace gpucontainer::plan {
namespace {

using model::DriverStack;
using model::FindingCode;
using model::VisibleDevices;
using Reader = VisibleDevices::Reader;

constexpr std::size_t most_requirements = 64;

/// Values of Go's strconv.ParseBool, which NVIDIA's toolkit reads with.
constexpr std::array<std::string_view, 6> true_words = {"1", "t", "T", "TRUE", "true", "True"};

/// A text of the container's in a message: one line of some length.
std::string shown(std::string_view text)
{
    constexpr std::size_t longest = 160;
    std::string line(text.substr(0, longest));
    std::ranges::replace_if(line, base::is_control, '?');
    return text.size() > longest ? line + "..." : line;
}

/// The variable by which containers name a driver's GPUs, if it has a value there.
struct Asked {
    const VisibleDevices& variable;
    std::string_view value;

    std::string text() const { return shown(base::format("{}={}", variable.name, value)); }
};

std::optional<Asked> asked_of(const DriverStack& driver, const Environment& container)
{
    const auto variable =
        std::ranges::find_if(driver.visible_devices, [](const VisibleDevices& one) {
            return one.reader == Reader::toolkit || one.reader == Reader::runtime;
        });
    if (variable == driver.visible_devices.end())
        return std::nullopt;
    const auto set = container.find(variable->name);
    if (set == container.end())
        return std::nullopt;
    const std::string_view value = base::trim(set->second);
    // A path tells NVIDIA's toolkit to look for mounts, which are read elsewhere.
    if (value.empty() || value.starts_with('/'))
        return std::nullopt;
    return Asked{*variable, value};
}

constexpr const char* or_else = "name GPUs with --device, which the container's environment does "
                                "not change";

Error nothing_asked(const Asked& asked)
{
    return Error(Errc::no_device, asked.text() + " of the container asks for no GPUs and no files")
        .with_object(asked.variable.name)
        .with_hint(or_else);
}

Error names_none(const Asked& asked, std::string_view word)
{
    return Error(Errc::no_device,
                 base::format("{} of the container: '{}' is not the name of a GPU of this host",
                              asked.text(), shown(word)))
        .with_object(asked.variable.name)
        .with_hint(or_else);
}

Error leaves_none(const Asked& asked)
{
    return Error(Errc::permission,
                 asked.text() + " of the container names no GPU that it may have here")
        .with_object(asked.variable.name)
        .with_hint(or_else);
}

model::Finding not_granted(const DriverStack& driver, const Asked& asked,
                           const std::vector<unsigned>& missing)
{
    std::vector<std::string> names;
    names.reserve(missing.size());
    for (const unsigned gpu : missing)
        names.push_back(driver.gpus[gpu].label());
    return {
        FindingCode::variable_contradicted, asked.text(),
        base::format("the container may not have GPU {} of these here", base::joined(names, ", "))};
}

using Gpus = std::vector<unsigned>;

/// The GPUs of the host that a value names, ascending; "all" has no particular ones.
Result<std::optional<Gpus>> named_by(const DriverStack& driver, const Asked& asked)
{
    std::vector<Counted> host;
    for (const model::Gpu& gpu : driver.gpus)
        host.push_back({gpu.index, std::nullopt});
    const VariableWords words(driver, asked.variable, host);
    std::vector<Counted> named;
    bool all = false;
    for (const std::string_view part : base::split(asked.value, ',')) {
        const std::string_view word = base::trim(part);
        const auto found = words.find_on_host(word);
        if (!found)
            return names_none(asked, word);
        all = all || found->size() == host.size();
        for (const Counted& one : *found)
            if (std::ranges::find(named, one) == named.end())
                named.push_back(one);
    }
    if (all)
        return std::optional<Gpus>();
    return std::optional(gpus_of(named));
}

Result<void> narrow_to_asked(const DriverStack& driver, const Asked& asked, Selection& selection,
                             model::Findings& findings)
{
    const std::string keyword = base::to_lower(asked.value);
    if (keyword == "void")
        return nothing_asked(asked);
    if (keyword == "none") {
        selection = {};
        selection.explicitly = true;
        return {};
    }
    GPUCTR_TRY(const auto named, named_by(driver, asked));
    if (!named)
        return {};
    std::vector<unsigned> left;
    std::vector<unsigned> missing;
    for (const unsigned gpu : *named)
        (std::ranges::binary_search(selection.gpus, gpu) ? left : missing).push_back(gpu);
    left = without_lone_parents(driver, std::move(left));
    if (left.empty())
        return leaves_none(asked);
    if (!missing.empty())
        findings.push_back(not_granted(driver, asked, missing));
    selection.gpus = std::move(left);
    return {};
}

/// The value of a variable that a vendor has a name for; "" if it is unset, or has no name.
std::string_view value_of(const Environment& container, std::string_view name)
{
    const auto set = container.find(std::string(name));
    return name.empty() || set == container.end() ? "" : base::trim(set->second);
}

const drivers::ContainerNames* names_of(std::string_view vendor_name)
{
    const drivers::Vendor* const vendor = drivers::find_vendor(vendor_name);
    return vendor != nullptr ? &vendor->container : nullptr;
}

/// Adds the channels of a list that the host has. Returns the first word that is none of these: the
/// list may have any number of words.
std::string_view add_channels(const DriverStack& driver, std::string_view list, Extras& extras)
{
    std::string_view unknown;
    for (const std::string_view part : base::split(list, ',')) {
        const std::string_view word = base::trim(part);
        std::string extra = channel_extra(word);
        if (!extra.empty() && offers(driver, extra))
            extras.insert(std::move(extra));
        else if (unknown.empty())
            unknown = word;
    }
    return unknown;
}

} // namespace

Result<std::vector<Selection>> narrow_to_asked(std::span<const DriverStack> drivers,
                                               const Request& request,
                                               std::vector<Selection> selections,
                                               model::Findings& findings)
{
    std::optional<Error> first;
    for (std::size_t i = 0; i < drivers.size(); ++i) {
        const DriverStack& driver = drivers[i];
        const auto asked = asked_of(driver, request.container);
        if (!asked || !selections[i].wanted || driver.gpus.empty())
            continue;
        if (request.names_devices || selections[i].explicitly) {
            findings.push_back({FindingCode::variable_ignored, asked->text(),
                                "the container's wish does not count, because the caller chose "
                                "GPUs"});
            continue;
        }
        auto narrowed = narrow_to_asked(driver, *asked, selections[i], findings);
        if (narrowed)
            continue;
        if (request.required.contains(driver.vendor))
            return std::move(narrowed).error();
        findings.push_back(
            {FindingCode::vendor_left_out, base::format("{} GPUs", driver.vendor_name),
             "left out: " + narrowed.error().message(), driver.root, narrowed.error().hint()});
        selections[i].wanted = false;
        if (!first)
            first = std::move(narrowed).error();
    }
    if (first && std::ranges::none_of(selections, &Selection::wanted))
        return *std::move(first);
    return selections;
}

std::string asked_capabilities(std::span<const UsedDriver> vendors, const Request& request,
                               model::Findings& findings)
{
    for (const UsedDriver& driver : vendors) {
        const drivers::ContainerNames* const names = names_of(driver.vendor);
        const auto value = names != nullptr ? value_of(request.container, names->capabilities) : "";
        if (value.empty())
            continue;
        const std::string setting = shown(base::format("{}={}", names->capabilities, value));
        if (request.names_capabilities) {
            findings.push_back({FindingCode::variable_ignored, setting,
                                "the container's wish does not count, because the caller chose "
                                "parts of the driver"});
            continue;
        }
        std::vector<std::string_view> known;
        std::vector<std::string_view> others;
        for (const std::string_view part : base::split(value, ',')) {
            const std::string_view word = base::trim(part);
            if (!word.empty())
                (parse_capabilities(word) ? known : others).push_back(word);
        }
        if (!others.empty())
            findings.push_back(
                {FindingCode::variable_ignored, setting,
                 base::format("not given to containers: {}", shown(base::joined(others, ", ")))});
        if (!known.empty())
            return base::joined(known, ",");
    }
    return request.capabilities;
}

Extras asked_extras(std::span<const DriverStack* const> drivers, const Request& request,
                    model::Findings& findings)
{
    Extras extras = request.extras;
    for (const DriverStack* const driver : drivers) {
        const drivers::ContainerNames* const names = names_of(driver->vendor);
        const auto value = names != nullptr ? value_of(request.container, names->channels) : "";
        if (value.empty())
            continue;
        const std::string setting = shown(base::format("{}={}", names->channels, value));
        if (request.extras.contains(no_asked_channels)) {
            findings.push_back({FindingCode::variable_ignored, setting,
                                base::format("the container's wish does not count, because of {}",
                                             no_asked_channels)});
            continue;
        }
        const std::string_view unknown = add_channels(*driver, value, extras);
        if (!unknown.empty())
            findings.push_back({FindingCode::variable_ignored, setting,
                                base::format("this host has no channel '{}'", shown(unknown))});
    }
    return extras;
}

Result<std::vector<AskedRequirement>> asked_requirements(std::span<const UsedDriver> vendors,
                                                         const Request& request)
{
    std::vector<AskedRequirement> all;
    for (const UsedDriver& driver : vendors) {
        const drivers::ContainerNames* const names = names_of(driver.vendor);
        if (names == nullptr || names->requirements.empty()
            || std::ranges::find(true_words, value_of(request.container, names->no_check))
                   != true_words.end())
            continue;
        for (const auto& [name, value] : request.container) {
            const bool has_none =
                !names->no_requirements.empty() && name.starts_with(names->no_requirements);
            if (has_none || !name.starts_with(names->requirements))
                continue;
            auto expression = parse_requirement(value);
            if (!expression)
                return std::move(expression).error().context(shown(name) + " of the container");
            if (all.size() == most_requirements)
                return Error(Errc::usage,
                             base::format("the container has more than {} variables {}*",
                                          most_requirements, names->requirements));
            all.push_back({shown(name), *std::move(expression)});
        }
    }
    return all;
}

} // namespace gpucontainer::plan
