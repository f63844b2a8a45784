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

/// What the kernel tells about one PCI function, before any vendor rule is
/// applied to it.
struct PciDevice {
    std::string address;          ///< "0000:65:00.0"
    std::uint16_t vendor_id = 0;  ///< 0x10de
    std::uint16_t device_id = 0;  ///< 0x2335
    std::uint32_t class_code = 0; ///< 0x030200: base class, subclass, interface
    std::string driver;           ///< Bound kernel driver; empty if none.
    int numa_node = -1;           ///< -1 when the firmware names none.
};

/// One device of a class of the kernel, such as a render node, before any vendor rule
/// is applied to it.
struct ClassDevice {
    std::string name; ///< "renderD128"
    std::string node; ///< "/dev/dri/renderD128"
    unsigned major = 0;
    unsigned minor = 0;
    std::string parent;      ///< The device that it is a part of: "0000:03:00.0", "amdgpu_xcp_0".
    std::string driver;      ///< Kernel driver of that; empty if none.
    std::string pci_address; ///< Of the nearest PCI function above; empty if none.
};

/// "0000:65:00.0", the name of a PCI function.
bool is_pci_address(std::string_view text);

/// A GPU of any kind: VGA, 3D or other display controller.
bool is_display_controller(const PciDevice& device);

/// Where devices come from. The seam that lets everything above it be tested
/// without hardware; production code has one implementation, over sysfs.
class Enumerator {
public:
    virtual ~Enumerator() = default;

    /// NUMA node that the function at an address is attached to; -1 when the
    /// firmware names none.
    virtual int numa_node(const std::string& address) = 0;

    /// PCI functions of one vendor, ordered by address, bound to a driver or not.
    /// Looks at every one of the host.
    virtual Result<std::vector<PciDevice>> pci_functions(std::uint16_t vendor_id) = 0;

    /// Those devices of a class ("drm", "accel") that have a node, which is one below
    /// /dev, ordered by name with numbers as numbers. None when the kernel has no such class.
    virtual Result<std::vector<ClassDevice>> class_devices(const std::string& name) = 0;

    /// That of a character device's number; none where the kernel tells of none.
    virtual Result<std::optional<ClassDevice>> character_device(unsigned major, unsigned minor) = 0;
};

/// By files and links of sysfs alone. libudev is left out: on text that the kernel would not
/// write it ends the process (an assertion of sd_device_get_devname() in systemd 252).
std::unique_ptr<Enumerator> make_enumerator(const std::string& sysfs = "/sys");

} // namespace gpucontainer::host
