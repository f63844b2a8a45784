// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::cdi {

/// A value of a JSON or YAML document, with its line.
struct Value {
    enum class Type : std::uint8_t { null, text, number, boolean, list, map };

    Type type = Type::null;
    std::size_t line = 0;
    std::string text = {};         ///< Of a scalar, as it is written.
    std::vector<Value> items = {}; ///< Of a list; of a map key, value, key, value.
};

// More than specifications have, and little enough to be read quickly.
inline constexpr std::size_t largest_document = 4U << 20U;
inline constexpr std::size_t deepest_document = 16;
inline constexpr std::size_t most_values = 500'000;

/// Reads a document. Errors: usage, beginning with "line LINE: " if the line is known.
Result<Value> parse_json_value(std::string_view text);
Result<Value> parse_yaml_value(std::string_view text);

} // namespace gpucontainer::cdi
