// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "model/driver.hpp"
#include "plan/selection.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace gpucontainer::plan {

/// Keeps selections, one a driver, to the GPUs of a list in the words of
/// parse_devices(); an empty list allows all. GPUs that nobody named are left out.
/// Errors: permission for a GPU that was named and is not allowed, or when nothing is
/// left, saying by `choice` or by which variables it was chosen; usage for the list.
Result<std::vector<Selection>> restrict_to(std::string_view allowed,
                                           std::span<const model::DriverStack> drivers,
                                           std::vector<Selection> selections,
                                           std::string_view choice = "device");

} // namespace gpucontainer::plan
