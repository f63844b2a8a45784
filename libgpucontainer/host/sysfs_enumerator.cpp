// SPDX-License-Identifier: MIT
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "base/try.hpp"
#include "host/enumerator.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gpucontainer::host {
namespace {

constexpr std::size_t most_devices = 1U << 16U;

/// A missing file reads as empty: the device lacks the attribute, or was removed meanwhile.
Result<std::string> missing_as_empty(Result<std::string> found)
{
    if (found || base::leaves_open(found.error().os_error()))
        return found;
    return std::string();
}

Result<std::string> attribute(const std::string& device, std::string_view name)
{
    GPUCTR_TRY(const auto text,
               missing_as_empty(base::read_file(base::format("{}/{}", device, name))));
    return std::string(base::trim(text));
}

/// Whether it is a printable path component.
bool is_file_name(std::string_view text)
{
    return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos
           && std::ranges::none_of(text, base::is_control);
}

/// Name that a link of a device leads to, such as that of its driver.
Result<std::string> linked(const std::string& device, std::string_view name)
{
    GPUCTR_TRY(const auto target,
               missing_as_empty(base::read_link(AT_FDCWD, base::format("{}/{}", device, name))));
    const std::string_view last = base::name_of(target);
    return is_file_name(last) ? std::string(last) : std::string();
}

/// sysfs writes ids as "0x10de"; anything else counts as 0.
std::uint32_t identifier(std::string_view text)
{
    if (!text.starts_with("0x"))
        return 0;
    const std::uint64_t number = base::to_number(text.substr(2), 16).value_or(0);
    return std::in_range<std::uint32_t>(number) ? static_cast<std::uint32_t>(number) : 0;
}

/// The text as a NUMA node; -1 if it is not one.
int numa_number(std::string_view text)
{
    const auto number = base::to_number(text);
    return number && std::in_range<int>(*number) ? static_cast<int>(*number) : -1;
}

/// The node in a device's file "uevent".
struct Node {
    std::string path; ///< Empty if it has none.
    unsigned major = 0;
    unsigned minor = 0;
};

/// The path below /dev: "dri/card0", or "/dev/dri/card0". Nothing if it is elsewhere.
std::string node_path(std::string_view name)
{
    constexpr std::string_view directory = "/dev/";
    if (name.starts_with(directory))
        name.remove_prefix(directory.size());
    const bool plain = std::ranges::all_of(base::split(name, '/'), is_file_name);
    return plain ? base::format("{}{}", directory, name) : "";
}

Node parse_uevent(std::string_view text)
{
    Node node;
    std::optional<std::uint64_t> major;
    std::optional<std::uint64_t> minor;
    for (const std::string_view line : base::split(text, '\n')) {
        const auto equals = std::min(line.find('='), line.size());
        const std::string_view key = line.substr(0, equals);
        const std::string_view value = line.substr(std::min(equals + 1, line.size()));
        if (key == "MAJOR")
            major = base::to_number(value);
        else if (key == "MINOR")
            minor = base::to_number(value);
        else if (key == "DEVNAME")
            node.path = node_path(value);
    }
    constexpr std::uint64_t majors = 1U << 12U; // the kernel's limit
    constexpr std::uint64_t minors = 1U << 20U;
    if (!major || !minor || *major >= majors || *minor >= minors)
        return {};
    node.major = static_cast<unsigned>(*major);
    node.minor = static_cast<unsigned>(*minor);
    return node;
}

/// Empty if there is none.
std::string real_path(const std::string& path)
{
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           std::free);
    return real ? real.get() : "";
}

class SysfsEnumerator final : public Enumerator {
public:
    explicit SysfsEnumerator(const std::string& sysfs)
        : bus_(sysfs + "/bus/pci/devices"), drivers_(sysfs + "/bus/pci/drivers"),
          classes_(sysfs + "/class"), characters_(sysfs + "/dev/char")
    {
    }

    int numa_node(const std::string& address) override
    {
        const auto text = attribute(function(address), "numa_node");
        return text ? numa_number(*text) : -1;
    }

    std::uint16_t device_id(const std::string& address) override
    {
        const auto text = attribute(function(address), "device");
        return text ? static_cast<std::uint16_t>(identifier(*text)) : 0;
    }

    Result<std::vector<PciDevice>> pci_functions(std::uint16_t vendor_id) override
    {
        GPUCTR_CHECK(look_at_bus());
        std::vector<PciDevice> devices;
        for (const auto& [address, vendor] : vendors_) {
            if (vendor != vendor_id)
                continue;
            GPUCTR_TRY(PciDevice device, describe(address));
            device.vendor_id = vendor_id;
            devices.push_back(std::move(device));
        }
        return devices;
    }

    Result<std::vector<PciDevice>> functions_of_driver(const std::string& driver,
                                                       std::uint16_t vendor_id) override
    {
        GPUCTR_TRY(auto addresses, list(base::format("{}/{}", drivers_, driver)));
        std::ranges::sort(addresses);
        std::vector<PciDevice> devices;
        for (const std::string& address : addresses) {
            if (!is_pci_address(address))
                continue;
            GPUCTR_TRY(const auto vendor, attribute(function(address), "vendor"));
            if (identifier(vendor) != vendor_id)
                continue;
            GPUCTR_TRY(PciDevice device, describe(address));
            device.vendor_id = vendor_id;
            devices.push_back(std::move(device));
        }
        return devices;
    }

    Result<std::vector<ClassDevice>> class_devices(const std::string& name) override
    {
        const std::string directory = base::format("{}/{}", classes_, name);
        GPUCTR_TRY(const auto names, list(directory));
        std::vector<ClassDevice> devices;
        for (const std::string& device : names) {
            if (!is_file_name(device))
                continue;
            GPUCTR_TRY(auto found, describe_device(directory, device));
            if (found)
                devices.push_back(*std::move(found));
        }
        std::ranges::sort(devices, [](const ClassDevice& a, const ClassDevice& b) {
            return ::strverscmp(a.name.c_str(), b.name.c_str()) < 0;
        });
        return devices;
    }

    Result<std::optional<ClassDevice>> character_device(unsigned major, unsigned minor) override
    {
        const std::string number = base::format("{}:{}", major, minor);
        GPUCTR_TRY(auto found, describe_device(characters_, number));
        if (!found)
            return found;
        const std::string real = real_path(base::format("{}/{}", characters_, number));
        found->name = is_file_name(base::name_of(real)) ? base::name_of(real) : "";
        return found;
    }

private:
    std::string function(const std::string& address) const
    {
        return base::format("{}/{}", bus_, address);
    }

    /// Names in a directory; none if it does not exist.
    static Result<std::vector<std::string>> list(const std::string& directory)
    {
        auto names = base::list_directory(AT_FDCWD, directory, most_devices);
        if (!names && names.error().os_error() == ENOENT)
            return std::vector<std::string>();
        if (!names)
            return Error::from_errno(names.error().os_error(), directory).with_object(directory);
        return names;
    }

    /// Vendor ids of all functions, read once for all vendors: servers have hundreds of functions.
    Result<void> look_at_bus()
    {
        if (!vendors_.empty())
            return {};
        GPUCTR_TRY(const auto addresses, list(bus_));
        for (const std::string& address : addresses) {
            if (!is_pci_address(address))
                continue;
            GPUCTR_TRY(const auto vendor, attribute(function(address), "vendor"));
            vendors_.emplace_back(address, identifier(vendor));
        }
        return {};
    }

    Result<PciDevice> describe(const std::string& address) const
    {
        const std::string device = function(address);
        PciDevice found;
        found.address = address;
        GPUCTR_TRY(const auto id, attribute(device, "device"));
        found.device_id = static_cast<std::uint16_t>(identifier(id));
        GPUCTR_TRY(const auto class_code, attribute(device, "class"));
        found.class_code = identifier(class_code);
        GPUCTR_TRY(found.driver, linked(device, "driver"));
        GPUCTR_TRY(const auto node, attribute(device, "numa_node"));
        found.numa_node = numa_number(node);
        return found;
    }

    /// None if it has no node below /dev.
    static Result<std::optional<ClassDevice>> describe_device(const std::string& directory,
                                                              const std::string& name)
    {
        GPUCTR_TRY(const auto text, attribute(base::format("{}/{}", directory, name), "uevent"));
        const Node node = parse_uevent(text);
        if (node.path.empty())
            return std::optional<ClassDevice>();
        GPUCTR_TRY(ClassDevice found, describe_part(directory, name));
        found.node = node.path;
        found.major = node.major;
        found.minor = node.minor;
        return std::optional(std::move(found));
    }

    /// The parent's directory is the next one above with a file "uevent".
    static Result<ClassDevice> describe_part(const std::string& directory, const std::string& name)
    {
        ClassDevice found;
        found.name = name;
        std::string above = real_path(base::format("{}/{}", directory, name));
        while (found.pci_address.empty() && above.size() > 1) {
            above = base::directory_of(above);
            GPUCTR_TRY(const auto subsystem, linked(above, "subsystem"));
            if (subsystem.empty())
                continue;
            const std::string_view device = base::name_of(above);
            if (found.parent.empty()) {
                found.parent = is_file_name(device) ? device : "";
                GPUCTR_TRY(found.driver, linked(above, "driver"));
            }
            if (subsystem == "pci" && is_pci_address(device))
                found.pci_address = device;
        }
        return found;
    }

    std::string bus_;
    std::string drivers_;
    std::string classes_;
    std::string characters_;
    std::vector<std::pair<std::string, std::uint32_t>> vendors_; ///< By address, in order.
};

} // namespace

bool is_pci_address(std::string_view text)
{
    const auto is_number = [](std::string_view part, std::size_t least, std::size_t most) {
        return part.size() >= least && part.size() <= most
               && part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    };
    const auto parts = base::split(text, ':');
    if (parts.size() != 3 || !is_number(parts[0], 4, 8) || !is_number(parts[1], 2, 2))
        return false;
    const std::string_view slot = parts[2]; // "00.0"
    return slot.size() == 4 && is_number(slot.substr(0, 2), 2, 2) && slot[2] == '.'
           && slot[3] >= '0' && slot[3] <= '7';
}

bool is_display_controller(const PciDevice& device)
{
    constexpr std::uint32_t display_base_class = 0x03;
    return device.class_code >> 16U == display_base_class;
}

std::unique_ptr<Enumerator> make_enumerator(const std::string& sysfs)
{
    return std::make_unique<SysfsEnumerator>(sysfs);
}

} // namespace gpucontainer::host
