// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cgroup {

/// A character device.
struct DeviceNumber {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;

    bool operator==(const DeviceNumber&) const = default;
};

/// What may be done with a device, a bit each.
using Access = unsigned;
inline constexpr Access may_read = 1U << 0U;
inline constexpr Access may_write = 1U << 1U;
inline constexpr Access may_make = 1U << 2U;
inline constexpr Access may_use = may_read | may_write;

/// One line of a list, of character devices.
struct DeviceRule {
    std::optional<std::uint32_t> major; ///< None: any.
    std::optional<std::uint32_t> minor;
    Access access = 0;

    bool operator==(const DeviceRule&) const = default;
};

/// The devices.list of a device cgroup of version 1. Where all devices are allowed by
/// default, the kernel does not tell what is excepted.
struct DeviceList {
    bool all_by_default = false;
    std::vector<DeviceRule> rules;

    bool operator==(const DeviceList&) const = default;
};

/// None for what is no such list.
std::optional<DeviceList> parse_device_list(std::string_view text);

/// Whether one rule, as the kernel has it, lets the device be read and written.
bool is_allowed(const DeviceList& list, const DeviceNumber& device);

/// What a rule for this device alone has to add, for it to be read and written by that rule.
Access missing_access(const DeviceList& list, const DeviceNumber& device);

/// "c 195:0 rw", as devices.allow and devices.deny take it.
std::string to_text(const DeviceNumber& device, Access access);

} // namespace gpucontainer::cgroup
