// SPDX-License-Identifier: MIT
#include "apply/allowed_devices.hpp"

#include "apply/device_access.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::apply {

Result<void> allow_devices(const plan::Plan& plan, int pidfd,
                           const std::optional<std::vector<cgroup::OrderedRule>>& rules)
{
    std::vector<cgroup::DeviceNumber> devices;
    for (const plan::DeviceRule& rule : plan::device_rules(plan))
        devices.push_back({rule.major, rule.minor});
    GPUCTR_TRY(const auto groups, cgroup::Groups::of_process(pidfd));
    GPUCTR_TRY(auto grant, groups.allow(devices, rules));
    // A group that is not seen from here may have rules of its own.
    Target target;
    target.pidfd = pidfd;
    model::Findings findings;
    auto access = ask_for_devices(plan, target, &findings);
    const auto unknown =
        std::ranges::find(findings, model::FindingCode::device_unknown, &model::Finding::code);
    if (access && (grant.unclear.empty() || unknown == findings.end()))
        return {};
    Error error =
        access ? Error(Errc::requirement, unknown->message()) : Error(std::move(access).error());
    if (!grant.unclear.empty())
        error = std::move(error).context(grant.unclear + ": what it forbids cannot be told");
    return grant.take_back(std::move(error));
}

} // namespace gpucontainer::apply
