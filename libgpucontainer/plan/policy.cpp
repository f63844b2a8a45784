// SPDX-License-Identifier: MIT
#include "plan/policy.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::plan {

using model::DriverStack;

namespace {

struct Policy {
    std::string_view allowed; ///< The GPUs that may be chosen.
    std::string_view choice;  ///< The chosen ones, for messages.
};

/// The variables that chose GPUs if nobody named any: "A=1", "B=2".
std::vector<std::string> variables_of(const std::vector<Selection>& selections)
{
    std::vector<std::string> all;
    for (const Selection& selection : selections)
        for (const VisibleLayer& layer : selection.layers)
            if (layer.variable.decides)
                all.push_back(base::format("{}={}", layer.variable.name, layer.value));
    return all;
}

Error nothing_left(std::string_view allowed, const std::vector<std::string>& variables)
{
    std::string message = base::format("none of the allowed devices may be used: {}", allowed);
    if (!variables.empty())
        message =
            base::format("{} {} none of the allowed devices: {}", base::joined(variables, " and "),
                         variables.size() == 1 ? "leaves" : "leave", allowed);
    return Error(Errc::permission, std::move(message))
        .with_hint("the allowed devices are the administrator's choice");
}

Result<void> restrict_to(const Selection& allowed, const Policy& policy, const DriverStack& driver,
                         Selection& selection)
{
    const auto is_refused = [&](unsigned gpu) {
        return !std::binary_search(allowed.gpus.begin(), allowed.gpus.end(), gpu);
    };
    const auto refused = std::find_if(selection.gpus.begin(), selection.gpus.end(), is_refused);
    if (refused == selection.gpus.end())
        return {};
    if (selection.explicitly)
        return Error(Errc::permission,
                     base::format("{}: GPU {} is not one of the allowed devices: {}", policy.choice,
                                  driver.gpus[*refused].label(), policy.allowed))
            .with_object(driver.gpus[*refused].pci_address)
            .with_argument("devices")
            .with_hint("the allowed devices are the administrator's choice; `auto` keeps to them");
    std::erase_if(selection.gpus, is_refused);
    selection.gpus = without_lone_parents(driver, std::move(selection.gpus));
    selection.wanted = !selection.gpus.empty();
    return {};
}

} // namespace

Result<std::vector<Selection>> restrict_to(std::string_view allowed,
                                           std::span<const DriverStack> drivers,
                                           std::vector<Selection> selections,
                                           std::string_view choice)
{
    if (allowed.empty())
        return selections;
    constexpr const char* argument = "allowed_devices";
    if (base::to_lower(base::trim(allowed)) == "auto")
        return Error(Errc::usage, "allowed devices: auto does not say which")
            .with_argument(argument);
    const auto has_gpus = [](const DriverStack& driver) { return !driver.gpus.empty(); };
    if (std::ranges::none_of(drivers, has_gpus))
        return selections; // it names those of the machines that have some
    GPUCTR_TRY(const auto policies, about(argument, parse_devices(drivers, allowed, true)),
               "allowed devices");
    const bool had_some = std::ranges::any_of(selections, &Selection::wanted);
    for (std::size_t i = 0; i < selections.size(); ++i)
        GPUCTR_CHECK(restrict_to(policies[i], {allowed, choice}, drivers[i], selections[i]));
    if (had_some && std::ranges::none_of(selections, &Selection::wanted))
        return nothing_left(allowed, variables_of(selections));
    return selections;
}

} // namespace gpucontainer::plan
