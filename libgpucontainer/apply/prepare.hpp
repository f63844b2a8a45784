// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"
#include "program/builder.hpp"

#include <string>

namespace gpucontainer::apply {

/// The plan as detached mounts and a program to attach them; nothing is changed. Where
/// there are no detached mounts they are on the bench's scratch directory, which has to stay
/// until they are attached. `staged_tree` is where on the host a tree to clone may be, or "".
/// Errors: permission without CAP_SYS_ADMIN, driver when a source is no longer
/// the file that was planned, no_device when no kernel module is loaded.
Result<program::Block> prepare(const plan::Plan& plan, const mount::Bench& bench,
                               const std::string& staged_tree);

} // namespace gpucontainer::apply
