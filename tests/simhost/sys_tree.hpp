// SPDX-License-Identifier: MIT
#pragma once

#include "recording.hpp"
#include "tree.hpp"

namespace gpucontainer::simhost {

/// Files and links of one device's directory, as sysfs has them.
struct DeviceFiles {
    std::vector<NamedText> files;
    std::vector<NamedText> links;
};
DeviceFiles files_of(const SysDevice& device);

/// Writes what leads to the devices: bus, class, module and dev, and the files
/// of the recording's sys/. Leaves the devices' own directories empty.
Result<void> lay_sys_tree(const Recording& host, Tree& tree);

/// Writes the devices' own directories.
Result<void> lay_device_directories(const Recording& host, Tree& tree);

/// True when one recorded device lies in the directory of another one.
bool has_nested_devices(const std::vector<SysDevice>& devices);

} // namespace gpucontainer::simhost
