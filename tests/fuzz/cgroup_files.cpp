// SPDX-License-Identifier: MIT
#include "cgroup/device_list.hpp"
#include "cgroup/membership.hpp"
#include "fuzz/fuzz.hpp"

#include <string>

namespace gpucontainer::fuzz {
namespace {

using namespace cgroup;

void check(const std::optional<std::string>& path)
{
    demand(!path || path->starts_with('/'), "a path is absolute");
    demand(!path || path->find_first_of(std::string_view("\n\0", 2)) == std::string::npos,
           "a path is one of the kernel's");
}

std::string number(const std::optional<std::uint32_t>& value)
{
    return value ? std::to_string(*value) : "*";
}

std::string text_of(const DeviceList& list)
{
    std::string text = list.all_by_default ? "a *:* rwm\n" : "";
    for (const DeviceRule& rule : list.rules) {
        const std::string access = to_text({}, rule.access).substr(std::size("c 0:0"));
        text += "c " + number(rule.major) + ":" + number(rule.minor) + " " + access + "\n";
    }
    return text;
}

void check(const DeviceList& list)
{
    demand(parse_device_list(text_of(list)) == list, "a list can be written as it was read");
    for (const DeviceNumber device : {DeviceNumber{195, 0}, DeviceNumber{0, 0}}) {
        const Access missing = missing_access(list, device);
        demand((missing & ~may_use) == 0, "nothing is missing but to read and to write");
        demand(missing != 0 || is_allowed({false, {{device.major, device.minor, may_use}}}, device),
               "a rule for a device allows it");
        DeviceList more = list;
        more.rules.push_back({device.major, device.minor, may_use});
        demand(is_allowed(more, device), "what is missing can be added");
    }
}

} // namespace

/// What the kernel says of a process's control groups, and of the devices of one.
void run(std::string_view input)
{
    const Membership found = parse_membership(input);
    check(found.unified);
    check(found.devices);
    demand(found.devices || !found.devices_alone, "a hierarchy that is not there shares nothing");
    if (const auto list = parse_device_list(input))
        check(*list);
}

} // namespace gpucontainer::fuzz
