// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gpucontainer::drivers::nvidia {

/// The "Key: value" lines of a file below /proc/driver/nvidia, without values that cannot be
/// printed.
std::map<std::string, std::string> fields(std::string_view text);

} // namespace gpucontainer::drivers::nvidia
