// SPDX-License-Identifier: MIT
#include "host/enumerator.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "drivers/habana/kernel.hpp"
#include "fuzz/facts.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/tree.hpp"
#include "host/kernel_files.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace gpucontainer::fuzz {
namespace {

constexpr std::array<std::uint16_t, 4> vendors = {0x10de, 0x1002, 0x8086, 0x1da3};
constexpr unsigned majors = 1U << 12U;
constexpr unsigned minors = 1U << 20U;
constexpr std::array classes = {"drm", "accel", "mei", "infiniband_verbs"};

/// A number of an attribute by the C library, which reads and stops in its own way.
std::optional<std::uint64_t> number_in(const std::string& path, int base)
{
    const auto text = base::read_file(path);
    const std::string line(text ? base::trim(*text) : "");
    const std::string digits = base == 16 && line.starts_with("0x") ? line.substr(2) : line;
    const char* const allowed = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
    if (digits.empty() || digits.size() != std::strspn(digits.c_str(), allowed)
        || (base == 16 && digits.size() == line.size()))
        return std::nullopt;
    errno = 0;
    const std::uint64_t number = std::strtoull(digits.c_str(), nullptr, base);
    return errno == 0 ? std::optional(number) : std::nullopt;
}

int expected_numa_node(const std::string& function)
{
    const auto number = number_in(function + "/numa_node", 10);
    return number && *number <= std::numeric_limits<int>::max() ? static_cast<int>(*number) : -1;
}

void check_functions(const std::string& bus, host::Enumerator& devices, std::uint16_t vendor)
{
    const auto functions = devices.pci_functions(vendor);
    if (!functions)
        return;
    std::string before;
    for (const host::PciDevice& function : *functions) {
        demand(is_pci_address(function.address), "a function has an address of PCI");
        demand(function.address > before, "functions are in order, each once");
        before = function.address;
        demand(function.vendor_id == vendor, "a function is of the vendor");
        demand(number_in(bus + function.address + "/vendor", 16) == vendor, "as its file says");
        demand(function.driver.empty() || is_file_name(function.driver), "a driver has a name");
        demand(devices.device_id(function.address) == function.device_id,
               "a function has one device id");
        demand(function.numa_node == expected_numa_node(bus + function.address)
                   && devices.numa_node(function.address) == function.numa_node,
               "a NUMA node is the one in the file, or -1");
    }
}

void check_device(const host::ClassDevice& device)
{
    demand(is_node_path(device.node), "a device has a node");
    demand(device.major < majors && device.minor < minors, "a number is one of a node's");
    demand(device.parent.empty() || is_file_name(device.parent), "a parent has a name");
    demand(device.driver.empty() || is_file_name(device.driver), "a driver has a name");
    demand(device.pci_address.empty() || is_pci_address(device.pci_address),
           "a device is of a PCI function or not");
}

/// What a number leads to has the name of its directory, if that can be shown.
void check_character(host::Enumerator& devices, unsigned major, unsigned minor)
{
    const auto found = devices.character_device(major, minor);
    if (!found || !*found)
        return;
    demand((*found)->name.empty() || is_file_name((*found)->name), "a device has a name");
    check_device(**found);
}

void check_class(host::Enumerator& devices, const char* name)
{
    const auto found = devices.class_devices(name);
    if (!found)
        return;
    const host::ClassDevice* before = nullptr;
    for (const host::ClassDevice& device : *found) {
        demand(is_file_name(device.name), "a device of a class has a name");
        demand(before == nullptr || ::strverscmp(before->name.c_str(), device.name.c_str()) < 0,
               "devices are in order, each once");
        before = &device;
        check_device(device);
        check_character(devices, device.major, device.minor);
    }
}

void check_accelerators(const std::string& root, host::Enumerator& devices)
{
    const auto others = drivers::habana::undriven(devices);
    demand(!others || is_plain(*others), "what drives a function can be shown");
    const auto found = drivers::habana::find_accelerators(root, devices);
    if (!found)
        return;
    check_gpus(found->gpus);
    check_wanted(found->wanted, found->gpus);
    demand(found->gpus.empty() || !found->prefix.empty(), "their nodes have a name");
}

void check_module(const std::string& root)
{
    for (const char* const name : {"amdgpu", "habanalabs"})
        if (const auto version = host::loaded_module_version(root, name); version && *version)
            demand(is_file_name(**version), "a version is a word");
}

} // namespace

/// Everything of /sys, as it is where somebody else may write it.
void run(std::string_view input)
{
    static Tree tree;
    (void)tree.fill(input);
    const std::string root = tree.path();
    const auto devices = host::make_enumerator(root + "/sys");
    for (const std::uint16_t vendor : vendors)
        check_functions(root + "/sys/bus/pci/devices/", *devices, vendor);
    for (const char* const name : classes)
        check_class(*devices, name);
    check_character(*devices, 1, 1);
    check_accelerators(root, *devices);
    check_module(root);
}

} // namespace gpucontainer::fuzz
