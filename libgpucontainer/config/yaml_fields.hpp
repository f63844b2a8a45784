// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/yaml_document.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace gpucontainer::config {

using Names = std::span<const std::string_view>;

/// The error for a mistake in a file: "line 3: WHAT".
Error mistake(std::size_t line, std::string_view what);

/// Text of a file for a message: short, in quotes, and without control characters, which a
/// terminal would obey.
std::string quote(std::string_view text);

struct Field {
    std::size_t line; ///< Of the key, because yaml-cpp puts a missing value after it.
    const YamlValue* value;
};

/// A map whose keys are known, each at most once. Borrows from the value. Errors: usage,
/// with a line.
class Fields {
public:
    /// `what` it is, for messages: "a rule".
    static Result<Fields> read(const YamlValue& map, std::string_view what, Names allowed);

    std::size_t line() const noexcept { return line_; }

    /// Null if the key is missing.
    const Field* find(std::string_view key) const;
    bool has(std::string_view key) const { return find(key) != nullptr; }

    Result<Field> need(std::string_view key) const;

    /// A text that is not empty. It lives as long as the document.
    Result<std::string_view> text(std::string_view key) const;

    /// A text out of a set.
    Result<std::string_view> choice(std::string_view key, Names allowed) const;

    /// False if the key is missing.
    Result<bool> flag(std::string_view key) const;

private:
    std::size_t line_ = 0;
    std::map<std::string_view, Field> fields_;
};

} // namespace gpucontainer::config
