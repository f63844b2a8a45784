// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpucontainer::config {

/// A value of a YAML document, with its line. All scalars are text, so that `1.10` and `no` stay
/// as written; the caller decides what they mean.
struct YamlValue {
    enum class Kind : std::uint8_t { scalar, list, map };

    Kind kind;
    std::size_t line;             ///< Of its first character; the first line is 1.
    std::string text;             ///< Of a scalar; empty for a null.
    std::vector<YamlValue> items; ///< Of a list; of a map key, value, key, value.
    bool quoted = false;          ///< A scalar is text whatever it says.
};

/// What a document may have at most.
struct YamlLimits {
    std::size_t bytes = 256UL << 10U;
    std::size_t depth = 8;
    std::size_t values = 50'000;
};

/// Reads a file with one document. Refuses anchors, aliases and tags, which are not needed and let
/// a small file become a huge document. Also refuses what has more than the limits, and control
/// characters, because readers differ in which of them end a line. None if there are only comments.
/// An error begins with "FILE:LINE: ", or with "line LINE: " if `file` is empty.
Result<std::optional<YamlValue>> parse_yaml(std::string_view text, std::string_view file = {},
                                            const YamlLimits& limits = {});

} // namespace gpucontainer::config
