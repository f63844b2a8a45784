// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace gpucontainer::capture {

/// The kernel's command line without the values of parameters, but for those of the kernel and of
/// modules that are known to matter for GPUs, and of modules that `is_of_driver` knows ('_' in
/// place of '-'). Other values name addresses, disks and servers, and may be passwords. What
/// follows "--" is the first program's.
std::string without_values(std::string_view text,
                           const std::function<bool(std::string_view)>& is_of_driver);

} // namespace gpucontainer::capture
