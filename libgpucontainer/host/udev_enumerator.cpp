// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include "base/c_handle.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <libudev.h>

namespace gpucontainer::host {
namespace {

using Udev = base::CHandle<udev, udev_unref>;
using UdevEnumerate = base::CHandle<udev_enumerate, udev_enumerate_unref>;
using UdevDevice = base::CHandle<udev_device, udev_device_unref>;

std::string_view attribute(udev_device* device, const char* name)
{
    const char* value = udev_device_get_sysattr_value(device, name);
    return value != nullptr ? base::trim(value) : std::string_view();
}

/// sysfs writes identifiers as "0x10de"; anything else counts as 0.
std::uint32_t hex_attribute(udev_device* device, const char* name)
{
    const std::string_view text = attribute(device, name);
    if (!text.starts_with("0x"))
        return 0;
    return static_cast<std::uint32_t>(base::to_number(text.substr(2), 16).value_or(0));
}

PciDevice describe(udev_device* device)
{
    PciDevice found;
    found.address = udev_device_get_sysname(device);
    found.vendor_id = static_cast<std::uint16_t>(hex_attribute(device, "vendor"));
    found.device_id = static_cast<std::uint16_t>(hex_attribute(device, "device"));
    found.class_code = hex_attribute(device, "class");
    if (const char* driver = udev_device_get_driver(device))
        found.driver = driver;
    const std::string_view node = attribute(device, "numa_node");
    if (const auto number = base::to_number(node))
        found.numa_node = static_cast<int>(*number);
    return found;
}

class UdevEnumerator final : public Enumerator {
public:
    /// One file of sysfs and no device of libudev, which checks every component of
    /// a device's path and takes ten times as long.
    int numa_node(const std::string& address) override
    {
        const auto text = base::read_file("/sys/bus/pci/devices/" + address + "/numa_node");
        const auto number = text ? base::to_number(base::trim(*text)) : std::nullopt;
        return number ? static_cast<int>(*number) : -1;
    }

    Result<std::vector<PciDevice>> display_controllers(std::uint16_t vendor_id) override
    {
        GPUCTR_TRY(const Udev context, connect());
        const UdevEnumerate matches(udev_enumerate_new(context.get()));
        if (!matches)
            return Error::from_errno(ENOMEM, "enumerate PCI devices");
        int status = udev_enumerate_add_match_subsystem(matches.get(), "pci");
        if (status >= 0)
            status = udev_enumerate_scan_devices(matches.get());
        if (status < 0)
            return Error::from_errno(-status, "enumerate PCI devices");

        std::vector<PciDevice> devices;
        udev_list_entry* entry = nullptr;
        udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(matches.get()))
        {
            const UdevDevice device(
                udev_device_new_from_syspath(context.get(), udev_list_entry_get_name(entry)));
            if (!device)
                continue;
            PciDevice found = describe(device.get());
            if (found.vendor_id == vendor_id && is_display_controller(found))
                devices.push_back(std::move(found));
        }
        std::sort(devices.begin(), devices.end(),
                  [](const PciDevice& a, const PciDevice& b) { return a.address < b.address; });
        return devices;
    }

private:
    static Result<Udev> connect()
    {
        Udev context(udev_new());
        if (!context)
            return Error::from_errno(ENOMEM, "connect to udev");
        return context;
    }
};

} // namespace

bool is_display_controller(const PciDevice& device)
{
    constexpr std::uint32_t display_base_class = 0x03;
    return device.class_code >> 16U == display_base_class;
}

std::unique_ptr<Enumerator> make_udev_enumerator() { return std::make_unique<UdevEnumerator>(); }

} // namespace gpucontainer::host
