// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include "base/c_handle.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <libudev.h>
#include <sys/sysmacros.h>

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
        const auto text = base::read_file("/sys/bus/pci/devices/" + address + "/numa_node");
        const auto number = text ? base::to_number(base::trim(*text)) : std::nullopt;
        return number ? static_cast<int>(*number) : -1;
    }

    Result<std::vector<PciDevice>> pci_functions(std::uint16_t vendor_id) override
    {
        std::vector<PciDevice> devices;
        const auto add = [&](udev_device* device) {
            PciDevice found = describe(device);
            if (found.vendor_id == vendor_id)
                devices.push_back(std::move(found));
        };
        GPUCTR_CHECK(for_each(
            "pci", [](std::string_view) { return true; }, add));
        std::sort(devices.begin(), devices.end(),
                  [](const PciDevice& a, const PciDevice& b) { return a.address < b.address; });
        return devices;
    }

    Result<std::vector<ClassDevice>> class_devices(const std::string& name) override
    {
        std::vector<ClassDevice> devices;
        const auto add = [&](udev_device* device) {
            if (const char* node = udev_device_get_devnode(device))
                devices.push_back(describe_part(device, node));
        };
        // Connectors of a display have no node: "card0-DP-1".
        const auto may_have_node = [](std::string_view path) {
            return base::name_of(path).find('-') == std::string_view::npos;
        };
        GPUCTR_CHECK(for_each(name.c_str(), may_have_node, add));
        std::sort(devices.begin(), devices.end(), [](const ClassDevice& a, const ClassDevice& b) {
            return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
        });
        return devices;
    }

private:
    /// Calls `visit` for each device of a subsystem whose path `matches`.
    template <typename Matches, typename Visit>
    static Result<void> for_each(const char* subsystem, Matches matches, Visit visit)
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
            if (!matches(path))
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
};

} // namespace

bool is_display_controller(const PciDevice& device)
{
    constexpr std::uint32_t display_base_class = 0x03;
    return device.class_code >> 16U == display_base_class;
}

std::unique_ptr<Enumerator> make_udev_enumerator() { return std::make_unique<UdevEnumerator>(); }

} // namespace gpucontainer::host
