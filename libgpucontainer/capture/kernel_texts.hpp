// SPDX-License-Identifier: MIT
#pragma once

#include "capture/report.hpp"
#include "drivers/vendor.hpp"

#include <span>
#include <string>

namespace gpucontainer::capture {

/// Adds what the kernel shows in procfs and of its modules: all of /proc/driver, device numbers,
/// the command line, and the modules of drivers for GPUs. `system_root` is a prefix; "" on a real
/// host.
void add_kernel_texts(const std::string& system_root, std::span<const drivers::Vendor> vendors,
                      Report& report);

/// Content of a small file of the kernel. "" if there is none, or it cannot be read, which the
/// report says.
std::string kernel_text(const std::string& path, Report& report);

} // namespace gpucontainer::capture
