// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "plan/planned.hpp"

namespace gpucontainer::apply {

/// Applies the plan, all or nothing, with a journal. If an older set-up is replaced, or went away
/// since the plan was made, the plan is made again. In the root of a process, it works as root of
/// its user namespace. A dry run returns what it would do, as far as that is known without changing
/// anything. Errors: those of plan::prove() first.
Result<Outcome> apply(const plan::Planned& wanted, const Target& caller);

} // namespace gpucontainer::apply
