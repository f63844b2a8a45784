// SPDX-License-Identifier: MIT
#pragma once

#include "plan/draft.hpp"

#include <span>

/// The host's toolkit for building programs, in place of one that the image lacks.
namespace gpucontainer::plan {

/// Reads what the host has. This is the one part of planning that looks at the host. Errors: usage,
/// permission, for a directory that was named.
Result<void> find_toolkits(std::span<const model::DriverStack> drivers, ToolkitChoice& choice);

/// Decides whether the container gets one. Call it before expect_names(). Errors: requirement, if
/// the driver does not support the one that was named.
Result<void> choose_toolkit(Draft& draft);

/// Adds it.
void add_toolkit(Draft& draft);

} // namespace gpucontainer::plan
