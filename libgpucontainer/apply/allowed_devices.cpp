// SPDX-License-Identifier: MIT
#include "apply/allowed_devices.hpp"

#include "apply/device_access.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"

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
    auto access = ask_for_devices(plan, target, nullptr);
    if (!access)
        return grant.take_back(std::move(access).error());
    return {};
}

} // namespace gpucontainer::apply
