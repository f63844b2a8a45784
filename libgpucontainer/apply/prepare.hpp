// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <memory>

namespace gpucontainer::apply {

/// The plan as detached mounts and a program to attach them; nothing is changed.
/// Errors: permission without CAP_SYS_ADMIN, driver when a source is no longer
/// the file that was planned, no_device when no kernel module is loaded.
Result<std::unique_ptr<std::uint64_t[]>> prepare(const plan::Plan& plan);

} // namespace gpucontainer::apply
