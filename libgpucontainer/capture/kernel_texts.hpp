// SPDX-License-Identifier: MIT
#pragma once

#include "capture/report.hpp"
#include "drivers/vendor.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpucontainer::capture {

/// Places of the kernel that drivers of the vendors look at: "/sys/class/drm".
std::vector<std::string> places_of(std::span<const drivers::Vendor> vendors);

/// Adds what the kernel shows in procfs and of its modules: all of /proc/driver, device numbers,
/// the command line, and the modules of drivers for GPUs. `system_root` is a prefix; "" on a real
/// host.
void add_kernel_texts(const std::string& system_root, std::span<const drivers::Vendor> vendors,
                      Report& report);

/// Content of a small file of the kernel. "" if there is none, or it cannot be read, which the
/// report says.
std::string kernel_text(const std::string& path, Report& report);

} // namespace gpucontainer::capture
