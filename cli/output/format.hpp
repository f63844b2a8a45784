// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>

namespace gpuctr_cli {

/// What fmt::vformat() returns, made in one place: fmt is used as headers alone, and each
/// file that formats by itself would be compiled for twice as long.
std::string formatted_values(fmt::string_view text, fmt::format_args values);

/// fmt::format(), whose texts are checked while compiling.
template <typename... Values>
std::string formatted(fmt::format_string<Values...> text, Values&&... values)
{
    return formatted_values(text, fmt::make_format_args(values...));
}

} // namespace gpuctr_cli
