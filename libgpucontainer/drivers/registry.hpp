// SPDX-License-Identifier: MIT
#pragma once

#include "drivers/vendor.hpp"

#include <span>
#include <string_view>

namespace gpucontainer::drivers {

std::span<const Vendor> vendors();

/// Null when there is none of that name.
const Vendor* find_vendor(std::string_view name);

} // namespace gpucontainer::drivers
