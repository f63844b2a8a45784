// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::host {

/// A PCI function as the kernel describes it, before rules of vendors.
struct PciDevice {
    std::string address;          ///< "0000:65:00.0"
    std::uint16_t vendor_id = 0;  ///< 0x10de
    std::uint16_t device_id = 0;  ///< 0x2335
    std::uint32_t class_code = 0; ///< 0x030200: base class, subclass, interface
    std::string driver;           ///< Bound kernel driver; empty if none.
    int numa_node = -1;           ///< -1 if unknown.
};

/// A device of a class of the kernel, such as a render node, before rules of vendors.
struct ClassDevice {
    std::string name; ///< "renderD128"
    std::string node; ///< "/dev/dri/renderD128"
    unsigned major = 0;
    unsigned minor = 0;
    std::string parent;      ///< The device that it is a part of: "0000:03:00.0", "amdgpu_xcp_0".
    std::string driver;      ///< Kernel driver of that; empty if none.
    std::string pci_address; ///< Of the nearest PCI function above; empty if none.
};

/// Whether it is the name of a PCI function, "0000:65:00.0".
bool is_pci_address(std::string_view text);

/// Whether it is a GPU: a VGA, 3D or other display controller.
bool is_display_controller(const PciDevice& device);

/// Lists devices. An interface, so that code can be tested without hardware; the only other
/// implementation is over sysfs.
class Enumerator {
public:
    virtual ~Enumerator() = default;

    /// NUMA node that the function at an address is attached to; -1 if unknown.
    virtual int numa_node(const std::string& address) = 0;

    /// Device id of the function at an address; 0 if unknown.
    virtual std::uint16_t device_id(const std::string& address) = 0;

    /// PCI functions of one vendor in the order of their addresses, with or without a driver.
    /// Looks at all functions of the host.
    virtual Result<std::vector<PciDevice>> pci_functions(std::uint16_t vendor_id) = 0;

    /// PCI functions of one vendor that a kernel driver has, in the order of their addresses. None
    /// if there is no such driver. Looks at no others.
    virtual Result<std::vector<PciDevice>> functions_of_driver(const std::string& driver,
                                                               std::uint16_t vendor_id) = 0;

    /// Devices of a class ("drm", "accel") with a node below /dev, ordered by name, with numbers
    /// as numbers. None if the kernel has no such class.
    virtual Result<std::vector<ClassDevice>> class_devices(const std::string& name) = 0;

    /// The device with a character device number; none if the kernel has none.
    virtual Result<std::optional<ClassDevice>> character_device(unsigned major, unsigned minor) = 0;
};

/// Reads files and links of sysfs. libudev is not used, because it ends the process on text that
/// the kernel would not write (an assertion of sd_device_get_devname() in systemd 252).
std::unique_ptr<Enumerator> make_enumerator(const std::string& sysfs = "/sys");

} // namespace gpucontainer::host
