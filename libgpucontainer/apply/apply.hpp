// SPDX-License-Identifier: MIT
#pragma once

#include "base/result.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace gpucontainer::apply {

enum class Outcome : std::uint8_t { applied, unchanged, replaced };

/// Makes the same plan anew, after what an older one did is gone; `shared` when
/// the root file system must not be written whatever was asked for.
using Replan = std::function<Result<plan::Plan>(bool shared)>;

/// Makes the plan true below `rootfs_fd`, completely or not at all, with a
/// journal in `state_directory`.
Result<Outcome> apply(const plan::Plan& plan, const Replan& replan, int rootfs_fd,
                      const std::string& state_directory);

/// Takes back what apply() did there; false when there was nothing.
Result<bool> undo(int rootfs_fd, const std::string& state_directory);

} // namespace gpucontainer::apply
