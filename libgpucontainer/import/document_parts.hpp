// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// A document of which parts are kept may be as long as this.
inline constexpr std::size_t longest_document = 64U << 20U;

/// Parts of a document.
struct Parts { // NOLINT(bugprone-exception-escape): of the destructor of nlohmann's values
    nlohmann::json kept; ///< Up to the fault, if there is one.
    std::string fault;   ///< Why the document is not understood; "" if it is.
};

/// Which values are kept.
struct WantedParts {
    /// Names from the outside in, with '/' between them; "*" stands for the elements of a list:
    /// "mounts/*/source". Names with '/' or '*' in them are kept nowhere.
    std::span<const std::string_view> names;
    /// Whether an element of a list, which is named as above, is kept.
    std::function<bool(std::string_view name, const nlohmann::json& element)> keeps;
};

/// Reads a JSON document of an OCI runtime, which may be hostile, while keeping little of it.
/// What is not kept may be anything in JSON. It is not understood if it is no JSON, too long,
/// nested too deep, or has a name twice where something is kept.
Parts read_parts(std::string_view text, const WantedParts& wanted);

/// The same of a regular file, which is never in memory as a whole. Errors: usage, permission.
Result<Parts> read_parts(int fd, const WantedParts& wanted);

} // namespace gpucontainer::imports
