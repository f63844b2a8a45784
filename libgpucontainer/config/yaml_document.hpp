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

/// One value of a YAML document and where it stands. All scalars are text: what
/// they mean is up to the reader, so that `1.10` and `no` stay what was written.
struct YamlValue {
    enum class Kind : std::uint8_t { scalar, list, map };

    Kind kind;
    std::size_t line;             ///< Of its first character; the first line is 1.
    std::string text;             ///< Of a scalar; empty for a null.
    std::vector<YamlValue> items; ///< Of a list; of a map key, value, key, value.
};

/// Reads a file with one document. Anchors, aliases and tags are refused: no
/// file of ours needs them, and they let a small file stand for a huge one. So
/// are more than 256 KiB, 8 levels and 50000 values, and control characters, at some of which
/// only some readers end a line. None where there are only comments. An error begins with
/// "FILE:LINE: ", or with "line LINE: " where `file` is empty.
Result<std::optional<YamlValue>> parse_yaml(std::string_view text, std::string_view file = {});

} // namespace gpucontainer::config
