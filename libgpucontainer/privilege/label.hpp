// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>

namespace gpucontainer::privilege {

/// Whether it can be an SELinux label at all; an empty one is none. Errors: usage.
Result<void> check_label(const std::string& label);

/// Whether file systems can be given a label here, if there is to be one: one that
/// had none would be left to whatever the policy says of others. Errors: requirement.
Result<void> require_label(const std::string& label);

} // namespace gpucontainer::privilege
