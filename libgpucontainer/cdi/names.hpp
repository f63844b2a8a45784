// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpucontainer::cdi {

// Each says what is wrong with a name, or "". They accept what the specification or its library
// for Go accepts.

/// "nvidia.com/gpu": a vendor and a class.
std::string fault_in_kind(std::string_view kind);
/// The name of a device in a kind: "0", "GPU-c95c73e3", "0:gi3:ci0".
std::string fault_in_device_name(std::string_view name);
/// NAME=VALUE
std::string fault_in_variable(std::string_view text);

/// Whether the class of a kind has a dot, and whether a name begins with a digit: newer versions of
/// the specification allow these.
bool has_dotted_class(std::string_view kind);
bool begins_with_digit(std::string_view name);

/// An absolute path without empty names and "."; none if it is relative, or has "..".
std::optional<std::string> plain_path(std::string_view path);

/// The usual name of a file for a kind, without its ending: "nvidia.com-gpu".
std::string file_name_of(std::string_view kind);

} // namespace gpucontainer::cdi
