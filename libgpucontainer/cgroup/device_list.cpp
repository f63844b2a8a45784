// SPDX-License-Identifier: MIT
#include "cgroup/device_list.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace gpucontainer::cgroup {
namespace {

constexpr std::string_view all_devices = "a *:* rwm";

/// Reads "195" or "*"; false for anything else.
bool parse_number(std::string_view text, std::optional<std::uint32_t>& number)
{
    number.reset();
    if (text == "*")
        return true;
    const auto value = base::to_number(text);
    if (!value || !std::in_range<std::uint32_t>(*value))
        return false;
    number = static_cast<std::uint32_t>(*value);
    return true;
}

/// Reads "rwm" or a part of it.
std::optional<Access> parse_access(std::string_view text)
{
    Access access = 0;
    for (const char letter : text) {
        const Access bit = letter == 'r'   ? may_read
                           : letter == 'w' ? may_write
                           : letter == 'm' ? may_make
                                           : 0;
        if (bit == 0 || (access & bit) != 0)
            return std::nullopt;
        access |= bit;
    }
    return access != 0 ? std::optional(access) : std::nullopt;
}

std::optional<DeviceRule> parse_rule(const std::vector<std::string_view>& words)
{
    const auto numbers = base::split(words[1], ':');
    const auto access = parse_access(words[2]);
    DeviceRule rule;
    if (numbers.size() != 2 || !parse_number(numbers[0], rule.major)
        || !parse_number(numbers[1], rule.minor) || !access)
        return std::nullopt;
    rule.access = *access;
    return rule;
}

bool is_for(const std::optional<std::uint32_t>& wanted, std::uint32_t number)
{
    return !wanted || *wanted == number;
}

} // namespace

std::optional<DeviceList> parse_device_list(std::string_view text)
{
    DeviceList list;
    for (const std::string_view line : base::split(text, '\n')) {
        if (line.empty())
            continue;
        if (line == all_devices) {
            list.all_by_default = true;
            continue;
        }
        const auto words = base::split(line, ' ');
        constexpr std::size_t fields = 3;
        if (words.size() != fields || (words[0] != "c" && words[0] != "b"))
            return std::nullopt;
        const auto rule = parse_rule(words);
        if (!rule)
            return std::nullopt;
        if (words[0] == "c")
            list.rules.push_back(*rule);
    }
    return list;
}

bool is_allowed(const DeviceList& list, const DeviceNumber& device)
{
    return list.all_by_default || std::ranges::any_of(list.rules, [&](const DeviceRule& rule) {
               return is_for(rule.major, device.major) && is_for(rule.minor, device.minor)
                      && (rule.access & may_use) == may_use;
           });
}

Access missing_access(const DeviceList& list, const DeviceNumber& device)
{
    Access missing = may_use;
    for (const DeviceRule& rule : list.rules)
        if (rule.major == device.major && rule.minor == device.minor)
            missing &= ~rule.access;
    return missing;
}

std::string to_text(const DeviceNumber& device, Access access)
{
    return base::format("c {}:{} {}{}{}", device.major, device.minor,
                        (access & may_read) != 0 ? "r" : "", (access & may_write) != 0 ? "w" : "",
                        (access & may_make) != 0 ? "m" : "");
}

} // namespace gpucontainer::cgroup
