// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>
#include <string>
#include <utility>

namespace gpucontainer::base {

/// Calls fmt::vformat() in one place. fmt is header-only here: a file that calls it directly
/// takes twice as long to compile.
std::string format_values(fmt::string_view text, fmt::format_args values);

/// Like fmt::format(); the format is checked at compile time.
template <typename... Values>
std::string format(fmt::format_string<Values...> text, Values&&... values)
{
    return format_values(text, fmt::make_format_args(values...));
}

} // namespace gpucontainer::base
