// SPDX-License-Identifier: MIT
#include "plan/policy.hpp"

#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::plan {
namespace {

constexpr const char* hint = "the allowed devices are the administrator's choice; `--device auto` "
                             "keeps to them";

/// The scheduler's order, without the GPUs that are no longer selected.
std::string still_visible(const vendor::DriverStack& driver, const Selection& selection)
{
    std::vector<std::string_view> uuids = base::split(*selection.visible, ',');
    std::erase_if(uuids, [&](std::string_view uuid) {
        return std::none_of(selection.gpus.begin(), selection.gpus.end(),
                            [&](unsigned gpu) { return driver.gpus[gpu].uuid == uuid; });
    });
    return fmt::format("{}", fmt::join(uuids, ","));
}

} // namespace

Result<Selection> restrict_to(std::string_view allowed, const vendor::DriverStack& driver,
                              Selection selection)
{
    if (allowed.empty())
        return selection;
    if (base::to_lower(base::trim(allowed)) == "auto")
        return Error(Errc::usage, "allowed devices: auto does not say which");
    GPUCTR_TRY(const Selection policy, select_gpus(driver, allowed, std::nullopt),
               "allowed devices");
    const auto is_refused = [&](unsigned gpu) {
        return !std::binary_search(policy.gpus.begin(), policy.gpus.end(), gpu);
    };
    const auto refused = std::find_if(selection.gpus.begin(), selection.gpus.end(), is_refused);
    if (refused == selection.gpus.end())
        return selection;
    if (selection.explicitly)
        return Error(Errc::permission,
                     fmt::format("GPU {} is none of the allowed devices: {}", *refused, allowed))
            .with_object(driver.gpus[*refused].pci_address)
            .with_hint(hint);
    std::erase_if(selection.gpus, is_refused);
    if (selection.gpus.empty())
        return Error(Errc::permission,
                     fmt::format("no GPU is left of the allowed devices: {}", allowed))
            .with_hint(hint);
    if (selection.visible)
        selection.visible = still_visible(driver, selection);
    return selection;
}

} // namespace gpucontainer::plan
