// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "drivers/vendor.hpp"
#include "import/document_parts.hpp"
#include "import/variables.hpp"

#include <array>
#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// Reads the environment that a JSON document gives to a container: "process.env" of an OCI
/// runtime configuration, or "config.Env" of an image's. What the runtime configuration mounts
/// below a vendor's directory for that stands for the value of the vendor's variable. Errors:
/// usage.
Result<Variables> read_oci_config(std::string_view text);

/// What of a configuration has to be kept for variables_of().
inline constexpr std::array<std::string_view, 4> parts_with_variables = {
    "process/env/*", "config/Env/*", "mounts/*/destination", "mounts/*/source"};

/// Whether a maker reads this variable of a container, or this mount.
bool is_variable_of_maker(std::string_view name);
bool is_mount_of_maker(const nlohmann::json& mount);
/// Whether it begins as a maker's variables do, whether one reads it or not.
bool has_prefix_of_maker(std::string_view variable);

/// The environment in the parts of a configuration. A variable with a value that is too long
/// counts as unknown, unless a maker reads it: then it is cut, which is a fault.
Variables environment_of(Parts& parts);

/// What is mounted below a maker's directory, as values of the maker's variables; "" for nothing.
struct NamedByMounts {
    std::string devices;
    std::string channels; ///< To other hosts.
};
NamedByMounts named_by_mounts(Parts& parts, const drivers::ContainerNames& names);

} // namespace gpucontainer::imports
