// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// The configuration of an OCI runtime, which may be hostile, with the edits of a plan
/// (exports::oci_edits()). Each takes the place of what the configuration has under the same name:
/// a variable, a mount of the same destination, a device of the same path. A mount of a small file
/// that this host does not have, with the bytes that it should have, is left out. Errors: usage,
/// for a configuration that cannot be read.
Result<std::string> edited_config(std::string_view config, std::string_view edits);

} // namespace gpucontainer::imports
