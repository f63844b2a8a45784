// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "import/variables.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace gpucontainer::imports {

/// Reads the environment that a JSON document gives to a container: "process.env" of an OCI
/// runtime configuration, or "config.Env" of an image's. What the runtime configuration mounts
/// below a vendor's directory for that stands for the value of the vendor's variable. Errors:
/// usage.
Result<Variables> read_oci_config(std::string_view text);
/// The same of a document that was parsed.
Result<Variables> variables_of(const nlohmann::json& document);

} // namespace gpucontainer::imports
