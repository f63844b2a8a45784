// SPDX-License-Identifier: MIT
#pragma once

#include "apply/target.hpp"
#include "base/result.hpp"
#include "plan/planned.hpp"

namespace gpucontainer::apply {

/// Applies the plan, all or nothing, without a journal. The caller must have its own mount
/// namespace, with which the set-up ends. Names that the plan makes stay, as in the layer of a
/// container, which goes with it; a loader cache that is replaced is lost. Uses only the root, the
/// state directory and `over_copies` of `target`. Errors: those of plan::prove() first; exists, if
/// there is another set-up. Just this one is left as it is.
Result<Outcome> apply_without_journal(const plan::Planned& planned, const Target& target);

} // namespace gpucontainer::apply
