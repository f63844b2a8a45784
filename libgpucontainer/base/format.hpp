// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>
#include <string>
#include <utility>

namespace gpucontainer::base {

/// What fmt::vformat() returns, made in one place: fmt is used as headers alone, and each
/// file that formats by itself would be compiled for twice as long.
std::string format_values(fmt::string_view text, fmt::format_args values);

/// fmt::format(), whose texts are checked while compiling.
template <typename... Values>
std::string format(fmt::format_string<Values...> text, Values&&... values)
{
    return format_values(text, fmt::make_format_args(values...));
}

} // namespace gpucontainer::base
