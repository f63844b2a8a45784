// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <string>
#include <utility>

namespace gpuctr_cli {

/// Calls fmt::vformat() in one place. fmt is header-only here: a file that calls it directly
/// takes twice as long to compile.
std::string formatted_values(fmt::string_view text, fmt::format_args values);

/// Like fmt::format(); the format is checked at compile time.
template <typename... Values>
std::string formatted(fmt::format_string<Values...> text, Values&&... values)
{
    return formatted_values(text, fmt::make_format_args(values...));
}

} // namespace gpuctr_cli
