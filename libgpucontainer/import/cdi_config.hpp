// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "cdi/specification.hpp"

#include <string>
#include <string_view>

namespace gpucontainer::imports {

/// The configuration of an OCI runtime, which may be hostile, with the edits of devices, as the
/// library of CDI for Go makes them: variables take the place of those of the same name, mounts
/// and devices that of those with the same path, and all mounts are sorted by the depth of their
/// destinations. Texts of the edits are UTF-8. Errors: usage, for a configuration that cannot be
/// read.
Result<std::string> config_with_edits(std::string_view config, const cdi::Edits& edits);

} // namespace gpucontainer::imports
