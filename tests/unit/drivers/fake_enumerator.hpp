// SPDX-License-Identifier: MIT
#pragma once

#include "host/enumerator.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpucontainer::test {

/// A PCI bus that says what a test tells it to.
class FakeEnumerator final : public host::Enumerator {
public:
    int numa_node(const std::string& address) override
    {
        for (const host::PciDevice& device : devices)
            if (device.address == address)
                return device.numa_node;
        return -1;
    }

    std::uint16_t device_id(const std::string& address) override
    {
        for (const host::PciDevice& device : devices)
            if (device.address == address)
                return device.device_id;
        return 0;
    }

    Result<std::vector<host::PciDevice>> pci_functions(std::uint16_t vendor_id) override
    {
        ++scans;
        std::vector<host::PciDevice> found;
        for (const host::PciDevice& device : devices)
            if (device.vendor_id == vendor_id)
                found.push_back(device);
        return found;
    }

    Result<std::vector<host::PciDevice>> functions_of_driver(const std::string& driver,
                                                             std::uint16_t vendor_id) override
    {
        std::vector<host::PciDevice> found;
        for (const host::PciDevice& device : devices)
            if (device.vendor_id == vendor_id && device.driver == driver)
                found.push_back(device);
        return found;
    }

    Result<std::vector<host::ClassDevice>> class_devices(const std::string& name) override
    {
        const auto of_class = parts.find(name);
        return of_class == parts.end() ? std::vector<host::ClassDevice>() : of_class->second;
    }

    /// Those that are in a class, and others.
    Result<std::optional<host::ClassDevice>> character_device(unsigned major,
                                                              unsigned minor) override
    {
        for (const auto& [name, of_class] : parts)
            for (const host::ClassDevice& device : of_class)
                if (device.major == major && device.minor == minor)
                    return std::optional(device);
        return std::optional<host::ClassDevice>();
    }

    void add(std::string address, std::string driver, int numa_node = -1)
    {
        constexpr std::uint16_t nvidia = 0x10de;
        constexpr std::uint16_t h200 = 0x2335;
        constexpr std::uint32_t three_d_controller = 0x030200;
        devices.push_back(
            {std::move(address), nvidia, h200, three_d_controller, std::move(driver), numa_node});
    }

    std::vector<host::PciDevice> devices;
    std::map<std::string, std::vector<host::ClassDevice>> parts; ///< By class.
    int scans = 0; ///< How often every function was looked at.
};

} // namespace gpucontainer::test
