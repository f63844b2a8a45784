// SPDX-License-Identifier: MIT
#include "base/format.hpp"
#include "base/try.hpp"
#include "cgroup/devices.hpp"
#include "cgroup/group_program.hpp"

namespace gpucontainer::cgroup {

Result<void> Groups::allow(std::span<const DeviceNumber> devices,
                           const std::optional<std::vector<OrderedRule>>& rules) const
{
    for (const Place* const place : {&devices_, &unified_})
        if (place->elsewhere && !place->group)
            return Error(Errc::requirement, place->problem).with_object(place->path);
    bool has_programs = false;
    if (unified_.group) {
        GPUCTR_TRY(has_programs, has_program(*unified_.group));
    }
    if (has_programs && !rules)
        return Error(Errc::requirement,
                     base::format("cgroup {}: its rules for devices are not known", unified_.path))
            .with_object(unified_.path)
            .with_hint("they are in the config.json of the container's bundle");
    if (devices_.group)
        for (const DeviceNumber& device : devices)
            GPUCTR_CHECK(devices_.group->allow(device, may_use));
    if (!has_programs)
        return {};
    std::vector<OrderedRule> whole = *rules;
    for (const DeviceNumber& device : devices)
        whole.push_back({true, DeviceType::character, device.major, device.minor, may_use});
    return replace_program(*unified_.group, whole);
}

} // namespace gpucontainer::cgroup
