// SPDX-License-Identifier: MIT
#include "apply/allowed_devices.hpp"

#include "apply/device_access.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"

namespace gpucontainer::apply {

Result<void> allow_devices(const plan::Plan& plan, int pidfd,
                           const std::optional<std::vector<cgroup::OrderedRule>>& rules)
{
    std::vector<cgroup::DeviceNumber> devices;
    for (const plan::DeviceRule& rule : plan::device_rules(plan))
        devices.push_back({rule.major, rule.minor});
    GPUCTR_TRY(const auto groups, cgroup::Groups::of_process(pidfd));
    GPUCTR_CHECK(groups.allow(devices, rules));
    // A group above has rules of its own.
    Target target;
    target.pidfd = pidfd;
    GPUCTR_TRY(const auto access, ask_for_devices(plan, target, nullptr));
    (void)access;
    return {};
}

} // namespace gpucontainer::apply
