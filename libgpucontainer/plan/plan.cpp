// SPDX-License-Identifier: MIT
#include "plan/plan.hpp"

namespace gpucontainer::plan {

std::string_view name(Layout layout)
{
    switch (layout) {
    case Layout::tree:
        return "tree";
    case Layout::merged:
        return "merged";
    case Layout::binds:
        return "binds";
    }
    return "";
}

std::vector<DeviceRule> device_rules(const Plan& plan)
{
    std::vector<DeviceRule> rules;
    for (const Item& item : plan.items)
        if (const auto* device = item.as<Device>())
            rules.push_back({device->major, device->minor});
    return rules;
}

} // namespace gpucontainer::plan
