// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/selection.hpp"
#include "vendor/driver.hpp"

#include <string_view>

namespace gpucontainer::plan {

/// Keeps a selection to the GPUs of a list in the words of select_gpus, without
/// "auto"; an empty list allows all. GPUs that nobody named are left out. Errors: permission for a
/// GPU that was named and is not allowed, or when nothing is left; usage for the list.
Result<Selection> restrict_to(std::string_view allowed, const vendor::DriverStack& driver,
                              Selection selection);

} // namespace gpucontainer::plan
