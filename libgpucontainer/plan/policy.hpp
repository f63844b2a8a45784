// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/selection.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Restricts selections, one for each driver, to the GPUs of a list in the words of
/// parse_devices(). An empty list allows all. A GPU that is not allowed is left out, unless it was
/// named. Errors: permission, if it was named, or nothing is left; the message has `choice` or the
/// variables that chose it. Usage, for the list.
Result<std::vector<Selection>> restrict_to(std::string_view allowed,
                                           std::span<const model::DriverStack> drivers,
                                           std::vector<Selection> selections,
                                           std::string_view choice = "device");

} // namespace gpucontainer::plan
