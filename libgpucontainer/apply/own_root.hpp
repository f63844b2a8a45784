// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "journal/journal.hpp"
#include "plan/plan.hpp"

namespace gpucontainer::apply {

/// Refuses the root directory of the caller. In a bind mount of it, only mounts stay private; names
/// would not. Errors: rootfs.
Result<void> check_root(const plan::Plan& plan, const Target& target, const journal::RootId& root);

} // namespace gpucontainer::apply
