// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// Variables of an environment. Values may be anything but NUL.
using Variables = std::map<std::string, std::string>;

/// No variable that matters is longer; a longer one counts as unknown.
inline constexpr std::size_t longest_value = 32768;

/// Whether a variable can have this name.
bool is_variable_name(std::string_view text);

} // namespace gpucontainer::imports
