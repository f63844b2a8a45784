// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "config/settings.hpp"

#include <string>
#include <vector>

namespace gpucontainer::config {

/// The settings of a site's file, none if it is missing. A mistake is an error; `with_mistakes`
/// only one that may concern the site's policy. The object of an error is the file, or the key
/// that is wrong. Errors: usage, permission.
Result<std::vector<Setting>> read_settings(const std::string& path, bool with_mistakes);

} // namespace gpucontainer::config
