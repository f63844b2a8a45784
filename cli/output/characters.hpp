// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuctr_cli {

/// Length of the first character in UTF-8, in bytes; 0 if it is invalid. `text` is not empty.
std::size_t length_of_character(std::string_view text);

/// Whether a valid character is a control character, up to U+009F.
bool is_control(std::string_view character);

/// The number of a valid character in Unicode.
char32_t code_point(std::string_view character);

/// Whether a valid character begins another line or direction of text, though it is no control
/// character: after it, a terminal may show words in another order than they have.
bool changes_order(std::string_view character);

} // namespace gpuctr_cli
