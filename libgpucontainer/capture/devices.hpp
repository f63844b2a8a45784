// SPDX-License-Identifier: MIT
#pragma once

#include "capture/nodes.hpp"
#include "capture/report.hpp"
#include "drivers/vendor.hpp"

#include <span>
#include <string>

namespace gpucontainer::capture {

/// The classes of devices that drivers look at.
Classes classes_of(std::span<const drivers::Vendor> vendors);

/// Adds the devices of sysfs as sys.umockdev: GPUs and other functions of their makers, devices of
/// the classes, those of the nodes, and what they are a part of. Only attributes are read that do
/// not wake a device.
void add_devices(const std::string& system_root, std::span<const drivers::Vendor> vendors,
                 const Classes& classes, const std::vector<std::string>& of_nodes, Report& report);

} // namespace gpucontainer::capture
