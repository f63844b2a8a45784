// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/planned.hpp"
#include "program/builder.hpp"

namespace gpucontainer::apply {

/// The plan as detached mounts and a program to attach them; nothing is changed. Where
/// there are no detached mounts they are on the bench's scratch directory, which has to stay
/// until they are attached.
/// Errors: permission without CAP_SYS_ADMIN, driver when a source is no longer
/// the file that was planned, no_device when no kernel module is loaded.
Result<program::Block> prepare(const plan::Planned& planned, const mount::Bench& bench);

} // namespace gpucontainer::apply
