// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cgroup {

/// Number of a character device.
struct DeviceNumber {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;

    bool operator==(const DeviceNumber&) const = default;
};

/// What may be done with a device, one bit each.
using Access = unsigned;
inline constexpr Access may_read = 1U << 0U;
inline constexpr Access may_write = 1U << 1U;
inline constexpr Access may_make = 1U << 2U;
inline constexpr Access may_use = may_read | may_write;

/// A line of a list, about character devices.
struct DeviceRule {
    std::optional<std::uint32_t> major; ///< None: any.
    std::optional<std::uint32_t> minor;
    Access access = 0;

    bool operator==(const DeviceRule&) const = default;
};

/// The devices.list of a device cgroup of version 1. If all devices are allowed by default, the
/// kernel does not list the exceptions.
struct DeviceList {
    bool all_by_default = false;
    std::vector<DeviceRule> rules;

    bool operator==(const DeviceList&) const = default;
};

/// None if the text is not such a list.
std::optional<DeviceList> parse_device_list(std::string_view text);

/// Whether a single rule allows to read and write the device, as the kernel requires.
bool is_allowed(const DeviceList& list, const DeviceNumber& device);

/// The access that must be added to a rule for exactly this device, so that the rule allows to
/// read and write it.
Access missing_access(const DeviceList& list, const DeviceNumber& device);

/// "c 195:0 rw", for devices.allow and devices.deny.
std::string to_text(const DeviceNumber& device, Access access);

} // namespace gpucontainer::cgroup
