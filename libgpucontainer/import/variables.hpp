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

/// No environment has more variables, or is larger.
inline constexpr std::size_t most_variables = 10'000;
inline constexpr std::size_t largest_environment = 4U << 20U;

/// Whether a variable can have this name.
bool is_variable_name(std::string_view text);

} // namespace gpucontainer::imports
