// SPDX-License-Identifier: MIT
#include "plan/policy.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace gpucontainer::plan {
namespace {

constexpr const char* hint = "the allowed devices are the administrator's choice; `--device auto` "
                             "keeps to them";

Result<void> restrict_to(const Selection& policy, std::string_view allowed,
                         const vendor::DriverStack& driver, Selection& selection)
{
    const auto is_refused = [&](unsigned gpu) {
        return !std::binary_search(policy.gpus.begin(), policy.gpus.end(), gpu);
    };
    const auto refused = std::find_if(selection.gpus.begin(), selection.gpus.end(), is_refused);
    if (refused == selection.gpus.end())
        return {};
    if (selection.explicitly)
        return Error(Errc::permission,
                     fmt::format("GPU {} is none of the allowed devices: {}", *refused, allowed))
            .with_object(driver.gpus[*refused].pci_address)
            .with_hint(hint);
    std::erase_if(selection.gpus, is_refused);
    selection.wanted = !selection.gpus.empty();
    return {};
}

} // namespace

Result<std::vector<Selection>> restrict_to(std::string_view allowed,
                                           std::span<const vendor::DriverStack> drivers,
                                           std::vector<Selection> selections)
{
    if (allowed.empty())
        return selections;
    if (base::to_lower(base::trim(allowed)) == "auto")
        return Error(Errc::usage, "allowed devices: auto does not say which");
    GPUCTR_TRY(const auto policies, parse_devices(drivers, allowed, true), "allowed devices");
    const bool had_some = std::ranges::any_of(selections, &Selection::wanted);
    for (std::size_t i = 0; i < selections.size(); ++i)
        GPUCTR_CHECK(restrict_to(policies[i], allowed, drivers[i], selections[i]));
    if (had_some && std::ranges::none_of(selections, &Selection::wanted))
        return Error(Errc::permission,
                     fmt::format("no GPU is left of the allowed devices: {}", allowed))
            .with_hint(hint);
    return selections;
}

} // namespace gpucontainer::plan
