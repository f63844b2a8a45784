// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuctr_cli {

/// The text of a JSON value.
using Json = std::string;

/// A string. What is not UTF-8 becomes U+FFFD; control characters are escaped.
Json json_string(std::string_view text);
/// The same; null for "".
Json json_string_or_null(std::string_view text);

/// The members in this order, one a line.
Json json_object(const std::vector<std::pair<const char*, Json>>& members);
/// The values, one a line.
Json json_array(const std::vector<Json>& values);

/// The same value without line breaks.
Json json_on_one_line(const Json& value);

} // namespace gpuctr_cli
