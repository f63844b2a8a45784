// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include "base/c_handle.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <libudev.h>
#include <sys/sysmacros.h>
#include <utility>
#include <vector>

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
std::uint32_t identifier(std::string_view text)
{
    if (!text.starts_with("0x"))
        return 0;
    return static_cast<std::uint32_t>(base::to_number(text.substr(2), 16).value_or(0));
}

std::uint32_t hex_attribute(udev_device* device, const char* name)
{
    return identifier(attribute(device, name));
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

ClassDevice describe_part(udev_device* device, const char* node)
{
    ClassDevice found;
    found.name = udev_device_get_sysname(device);
    found.node = node;
    found.major = major(udev_device_get_devnum(device));
    found.minor = minor(udev_device_get_devnum(device));
    // Parents belong to the device.
    if (udev_device* const parent = udev_device_get_parent(device)) {
        found.parent = udev_device_get_sysname(parent);
        if (const char* driver = udev_device_get_driver(parent))
            found.driver = driver;
    }
    if (udev_device* const pci =
            udev_device_get_parent_with_subsystem_devtype(device, "pci", nullptr))
        found.pci_address = udev_device_get_sysname(pci);
    return found;
}

class UdevEnumerator final : public Enumerator {
public:
    /// One file of sysfs and no device of libudev, which checks every component of
    /// a device's path and takes ten times as long.
    int numa_node(const std::string& address) override
    {
        const auto number = base::to_number(attribute_of(address, "numa_node"));
        return number ? static_cast<int>(*number) : -1;
    }

    Result<std::vector<PciDevice>> pci_functions(std::uint16_t vendor_id) override
    {
        GPUCTR_TRY(const Udev context, connect());
        GPUCTR_CHECK(look_at_bus());
        std::vector<PciDevice> devices;
        for (const auto& [address, vendor] : vendors_) {
            if (vendor != vendor_id)
                continue;
            const UdevDevice device(
                udev_device_new_from_subsystem_sysname(context.get(), "pci", address.c_str()));
            if (device)
                devices.push_back(describe(device.get()));
        }
        return devices;
    }

    Result<std::vector<ClassDevice>> class_devices(const std::string& name) override
    {
        std::vector<ClassDevice> devices;
        const auto add = [&](udev_device* device) {
            if (const char* node = udev_device_get_devnode(device))
                devices.push_back(describe_part(device, node));
        };
        GPUCTR_CHECK(for_each(name.c_str(), add));
        std::sort(devices.begin(), devices.end(), [](const ClassDevice& a, const ClassDevice& b) {
            return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
        });
        return devices;
    }

private:
    static std::string attribute_of(const std::string& address, const char* name)
    {
        const auto text = base::read_file(fmt::format("{}/{}/{}", bus, address, name));
        return text ? std::string(base::trim(*text)) : std::string();
    }

    /// Whose each function is: one file of each, once for all vendors. Servers have
    /// hundreds of functions.
    Result<void> look_at_bus()
    {
        if (!vendors_.empty())
            return {};
        const auto addresses = base::list_directory(AT_FDCWD, bus, most_functions);
        if (!addresses && addresses.error().os_error() == ENOENT)
            return {};
        if (!addresses)
            return Error::from_errno(addresses.error().os_error(), bus).with_object(bus);
        for (const std::string& address : *addresses)
            vendors_.emplace_back(
                address, static_cast<std::uint16_t>(identifier(attribute_of(address, "vendor"))));
        return {};
    }

    static constexpr const char* bus = "/sys/bus/pci/devices";
    static constexpr std::size_t most_functions = 1U << 16U;

    /// Calls `visit` for each device of a subsystem that may have a node.
    template <typename Visit>
    static Result<void> for_each(const char* subsystem, Visit visit)
    {
        const auto failed = [&](int error) {
            return Error::from_errno(error, fmt::format("enumerate {} devices", subsystem));
        };
        GPUCTR_TRY(const Udev context, connect());
        const UdevEnumerate found(udev_enumerate_new(context.get()));
        if (!found)
            return failed(ENOMEM);
        int status = udev_enumerate_add_match_subsystem(found.get(), subsystem);
        if (status >= 0)
            status = udev_enumerate_scan_devices(found.get());
        if (status < 0)
            return failed(-status);
        udev_list_entry* entry = nullptr;
        udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(found.get()))
        {
            const char* const path = udev_list_entry_get_name(entry);
            // Connectors of a display have none: "card0-DP-1".
            if (base::name_of(path).find('-') != std::string_view::npos)
                continue;
            const UdevDevice device(udev_device_new_from_syspath(context.get(), path));
            if (device)
                visit(device.get());
        }
        return {};
    }

    static Result<Udev> connect()
    {
        Udev context(udev_new());
        if (!context)
            return Error::from_errno(ENOMEM, "connect to udev");
        return context;
    }

    std::vector<std::pair<std::string, std::uint16_t>> vendors_; ///< By address, in order.
};

} // namespace

bool is_display_controller(const PciDevice& device)
{
    constexpr std::uint32_t display_base_class = 0x03;
    return device.class_code >> 16U == display_base_class;
}

std::unique_ptr<Enumerator> make_udev_enumerator() { return std::make_unique<UdevEnumerator>(); }

} // namespace gpucontainer::host
