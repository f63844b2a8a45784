// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"

#include <string>

namespace gpucontainer::privilege {

/// Checks the form of an SELinux label; an empty one is valid and means none. Errors: usage.
Result<void> check_label(const std::string& label);

/// Checks that file systems can be given the label here, unless it is empty. Without SELinux the
/// label would have no effect. Errors: requirement.
Result<void> require_label(const std::string& label);

} // namespace gpucontainer::privilege
