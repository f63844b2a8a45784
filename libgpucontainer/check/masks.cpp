// SPDX-License-Identifier: MIT
#include "check/masks.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "drivers/registry.hpp"
#include "plan/visible_devices.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::check {
namespace {

using model::Blocks;
using model::Cause;
using model::DriverStack;
using model::FindingCode;
using model::Stage;
using model::VisibleDevices;
using plan::VisibleLayer;
using Reader = VisibleDevices::Reader;

constexpr std::size_t longest_shown = 80;

/// Whether programs obey it: not one that a runtime or a scheduler reads, and has obeyed.
bool is_of_programs(const VisibleDevices& variable, std::string_view of_runtime)
{
    return variable.name != of_runtime
           && (variable.reader == Reader::library || variable.reader == Reader::filter
               || (variable.reader == Reader::runtime
                   && variable.inside != VisibleDevices::Inside::nothing));
}

/// The part of a driver by which programs count its GPUs. Without nodes: the device cgroup has
/// decided which GPUs were chosen.
DriverStack as_programs_see(const DriverStack& driver)
{
    DriverStack seen;
    seen.vendor = driver.vendor;
    seen.vendor_name = driver.vendor_name;
    seen.cdi_kind = driver.cdi_kind;
    seen.gpus = driver.gpus;
    seen.library_order = driver.library_order;
    const drivers::Vendor* const vendor = drivers::find_vendor(driver.vendor);
    for (const VisibleDevices& variable : driver.visible_devices)
        if (is_of_programs(variable, vendor != nullptr ? vendor->container.devices : ""))
            seen.visible_devices.push_back(variable);
    return seen;
}

/// A value as it is shown, which may be hostile.
std::string shown(std::string_view value)
{
    std::string text(value.substr(0, longest_shown));
    std::ranges::replace_if(text, base::is_control, '?');
    return value.size() > longest_shown ? text + "..." : text;
}

std::string count_of(std::size_t gpus)
{
    return gpus == 1 ? "the one GPU" : base::format("the {} GPUs", gpus);
}

/// What a variable does that leaves nothing; `before` are those that were obeyed before it.
std::string what_it_does(std::string_view value, const std::vector<std::string>& before,
                         std::size_t gpus)
{
    if (value.empty())
        return "is set and empty, which hides all GPUs from programs";
    if (before.empty())
        return base::format("is \"{}\", which names none of {} that the container gets: programs "
                            "see no GPU",
                            shown(value), count_of(gpus));
    return base::format("is \"{}\", which counts what {} {}, and names none of that: programs see "
                        "no GPU",
                        shown(value), base::joined(before, " and "),
                        before.size() == 1 ? "leaves" : "leave");
}

Cause hidden(const std::string& name, std::string text, std::size_t gpus)
{
    return {{FindingCode::gpus_hidden, name, std::move(text), name,
             gpus == 1 ? base::format("unset {} in the container, or set it to 0", name)
                       : base::format("unset {} in the container, or name GPUs from 0 to {} in it",
                                      name, gpus - 1),
             model::Capability::compute},
            Stage::visible};
}

/// The variables that are set and come before this one, with their values.
std::vector<std::string> set_before(const DriverStack& seen, std::string_view name,
                                    const std::map<std::string, std::string>& environment)
{
    std::vector<std::string> before;
    for (const VisibleDevices& variable : seen.visible_devices) {
        if (variable.name == name)
            break;
        const auto set = environment.find(variable.name);
        if (variable.decides && set != environment.end() && !set->second.empty())
            before.push_back(base::format("{}={}", variable.name, shown(set->second)));
    }
    return before;
}

/// A variable that only some programs read, which hides the GPUs from them.
bool hides_from_some(const VisibleLayer& layer,
                     const std::map<std::string, std::string>& environment)
{
    const bool is_read =
        layer.variable.preferred.empty() || !environment.contains(layer.variable.preferred);
    return !layer.variable.decides && layer.left.empty() && is_read;
}

} // namespace

void check_masks(const DriverStack& driver, const std::vector<model::Gpu>& chosen,
                 const std::map<std::string, std::string>& environment, model::Causes& causes)
{
    if (chosen.empty())
        return;
    const DriverStack seen = as_programs_see(driver);
    std::vector<unsigned> granted;
    for (const model::Gpu& gpu : chosen)
        if (gpu.index < seen.gpus.size())
            granted.push_back(gpu.index);
    const std::size_t count = plan::without_parents(seen, granted).size();
    const auto narrowed = plan::narrow(seen, environment, granted, std::nullopt);
    if (!narrowed) {
        // An instance of which the kernel does not tell the name may be there.
        const auto set = environment.find(narrowed.error().object());
        if (narrowed.error().code() == Errc::no_device && set != environment.end())
            causes.push_back(
                hidden(set->first,
                       what_it_does(set->second, set_before(seen, set->first, environment), count),
                       count));
        return;
    }
    for (const VisibleLayer& layer : narrowed->layers)
        if (hides_from_some(layer, environment)) {
            Cause cause =
                hidden(layer.variable.name,
                       what_it_does(layer.value, set_before(seen, layer.variable.name, environment),
                                    count),
                       count);
            cause.blocks = Blocks::some;
            cause.certain = false;
            causes.push_back(std::move(cause));
        }
}

} // namespace gpucontainer::check
